import { useState } from 'preact/hooks';
import guides from 'virtual:guides';
import { hasKey } from '../api';
import { Copy } from '../copy';
import { Code } from '../markdown';

/** The code by which a page of each UI library connects to this agent. */
export function Connect({ agent }: { agent: string }) {
  const [name, setName] = useState(guides[0]?.name ?? '');
  const guide = guides.find((item) => item.name === name);
  if (!guide) return null;
  const code = fill(guide.code, agent);
  const command = `curl -N ${location.origin}/v1/runs -H 'content-type: application/json'${hasKey() ? ' -H "Authorization: Bearer $HEADWATER_KEY"' : ''} -d '${JSON.stringify({ agent, input: 'hello' })}'`;
  return (
    <div class="connect">
      <div class="dialects" role="group" aria-label="Libraries">
        {guides.map((item) => <button key={item.name} type="button" class={item.name === name ? 'chip on' : 'chip'} aria-pressed={item.name === name} onClick={() => setName(item.name)}>{item.title}</button>)}
      </div>
      <p>{guide.about}</p>
      <Snippet label={`Copy the code for ${guide.title}`} text={code} language="ts" />
      <p class="soft">More in docs/guides/{guide.name}.md.</p>
      <h3>Start a run from a shell</h3>
      <Snippet label="Copy the command" text={command} language="bash" />
    </div>
  );
}

function Snippet({ text, label, language }: { text: string; label: string; language: string }) {
  return (
    <div class="snippet">
      <header><Copy label={label} text={() => text}>Copy</Copy></header>
      <pre tabIndex={0}><Code text={text} language={language} /></pre>
    </div>
  );
}

/** The code with the address and the agent in the place of its variables. */
export function fill(code: string, agent: string): string {
  return code
    .replace(/`\$\{server\}([^`$]*)(?:\$\{agent\}([^`$]*))?`/g, (_, before: string, after: string | undefined) => `'${location.origin}${before}${after === undefined ? '' : agent + after}'`)
    .replaceAll('${server}', location.origin)
    .replaceAll('${agent}', agent);
}
