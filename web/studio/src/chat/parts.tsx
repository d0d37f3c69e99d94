import { parsePartialJson, type Part } from '@headwater/client';
import type { ComponentChildren } from 'preact';
import { Icon } from '../icon';
import { duration, line } from '../format';
import { Json } from '../json';
import { Markdown } from '../markdown';
import type { Facts } from '../run-facts';
import { Structured } from './structured';

type PartOf<T extends Part['type']> = Extract<Part, { type: T }>;

/** A row that opens. */
function Fold({ label, children, icon, tone = '', aside, open = false }: {
  label: ComponentChildren;
  children: ComponentChildren;
  icon?: ComponentChildren;
  tone?: string;
  aside?: ComponentChildren;
  open?: boolean;
}) {
  return (
    <details class={`row ${tone}`} open={open}>
      <summary>
        {icon}
        <span class="label">{label}</span>
        {aside && <span class="aside">{aside}</span>}
        <Icon name="chevron" />
      </summary>
      <div class="inside">{children}</div>
    </details>
  );
}

export function Reasoning({ part, facts }: { part: PartOf<'reasoning'>; facts: Facts | undefined }) {
  const grows = part.state === 'streaming';
  const times = facts?.thoughts[part.id];
  const took = times?.to !== undefined && duration(times.to - times.from);
  // The end of what is being thought is shown without opening it.
  const label = grows ? <><span class="pulse">Thinking</span> <span class="soft">{part.text.slice(-90)}</span></> : took ? `Thought for ${took}` : 'Thought';
  return (
    <Fold label={label} tone="thought">
      <Markdown text={part.text} streaming={grows} />
    </Fold>
  );
}

const STATES: Record<PartOf<'tool'>['state'], [label: string, tone: string]> = {
  'input-streaming': ['writes its input', 'active'],
  'input-available': ['runs', 'active'],
  'approval-requested': ['waits for your approval', 'waiting'],
  'approval-responded': ['', 'active'],
  'output-available': ['', 'good'],
  'output-error': ['failed', 'bad'],
  'output-denied': ['not allowed', 'bad'],
};

export function Tool({ part, facts, isLive }: { part: PartOf<'tool'>; facts: Facts | undefined; isLive: boolean }) {
  const times = facts?.tools[part.call];
  const failed = part.isError === true;
  let [state, tone] = failed ? (['failed', 'bad'] as const) : (STATES[part.state] ?? ['', '']);
  const isActive = tone === 'active';
  if (isActive && part.executor === 'client') [state, tone] = ['is for the page', 'waiting'];
  if (isActive && !isLive) [state, tone] = ['not completed', ''];
  const input = part.input ?? (part.inputText ? parsePartialJson(part.inputText) : undefined);
  const took = times?.to !== undefined ? duration(times.to - times.from) : '';
  return (
    <Fold
      tone={`tool ${tone}`}
      icon={<span class="state">{tone === 'active' ? <span class="spinner" /> : <Icon name={tone === 'good' ? 'check' : tone === 'bad' ? 'cross' : tone === 'waiting' ? 'clock' : 'tool'} />}</span>}
      label={<><strong>{part.title ?? part.name}</strong> <code class="arguments">{summary(input)}</code></>}
      aside={[state, took].filter(Boolean).join(' · ')}
    >
      <dl class="fields">
        <dt>Tool</dt>
        <dd><code>{part.name}</code>{part.executor !== 'server' && <span class="soft"> runs at the {part.executor === 'client' ? 'page' : 'provider'}</span>}</dd>
        <dt>Input</dt>
        <dd>{input === undefined ? <code>{part.inputText || 'none'}</code> : <Json value={input} />}</dd>
        {part.approval?.approved !== undefined && (
          <><dt>Approval</dt><dd>{part.approval.approved ? 'allowed' : 'refused'}{part.approval.reason && `: ${part.approval.reason}`}</dd></>
        )}
        {part.output !== undefined && <><dt>Result</dt><dd><Json value={part.output} /></dd></>}
        {part.error !== undefined && <><dt>Error</dt><dd class="bad">{part.error}</dd></>}
      </dl>
    </Fold>
  );
}

/** `Paris`, or `city: "Paris", days: 3`. */
function summary(input: unknown): string {
  if (typeof input !== 'object' || input === null) return input === undefined ? '' : line(input, 60);
  const entries = Object.entries(input);
  return line(entries.map(([key, value]) => `${key}: ${line(typeof value === 'string' ? JSON.stringify(value) : value, 90)}`).join(', '), 120);
}

export function StructuredCard({ part, isLive }: { part: PartOf<'structured'>; isLive: boolean }) {
  return (
    <figure class={isLive ? 'card structured growing' : 'card structured'}>
      <figcaption>{part.dataType}</figcaption>
      <Structured value={part.data} />
    </figure>
  );
}

export function Sources({ parts }: { parts: (PartOf<'source-url'> | PartOf<'source-document'>)[] }) {
  return (
    <ul class="sources" aria-label="Sources">
      {parts.map((part, at) => {
        const title = part.title || part.filename || (part.url && hostOf(part.url)) || 'a document';
        const href = part.type === 'source-url' ? safeUrl(part.url) : undefined;
        return (
          <li key={part.source} title={part.text ?? part.url}>
            <span class="number">{at + 1}</span>
            {href ? <a href={href} target="_blank" rel="noopener noreferrer">{title}</a> : <span>{title}</span>}
            {href && <span class="soft">{hostOf(href)}</span>}
          </li>
        );
      })}
    </ul>
  );
}

export function FileCard({ part }: { part: PartOf<'file'> }) {
  const name = part.filename ?? part.mediaType;
  // A picture that came with the message loads nothing; one from elsewhere is a link.
  if (/^data:image\/[\w.+-]+[;,]/i.test(part.url)) return <img class="picture" src={part.url} alt={part.filename ?? 'a picture of the answer'} />;
  const href = safeUrl(part.url);
  return (
    <p class="chip">
      <Icon name="file" />
      {href ? <a href={href} target="_blank" rel="noopener noreferrer">{name}</a> : name}
    </p>
  );
}

/** A question and its answer. */
export function QuestionLine({ part }: { part: PartOf<'question'> }) {
  const chosen = part.interrupt.options?.filter(({ id }) => [part.answer].flat().includes(id)).map(({ label }) => label);
  const answer = chosen?.length ? chosen.join(', ') : line(part.answer ?? 'declined');
  return (
    <p class="answered">
      <Icon name={part.state === 'answered' ? 'check' : 'clock'} />
      <span class="soft">{part.interrupt.question ?? 'A question'}</span> {part.state === 'answered' ? <strong>{answer}</strong> : part.state === 'open' ? 'Not answered yet.' : 'No answer came in time.'}
    </p>
  );
}

export function Data({ name, value }: { name: string; value: unknown }) {
  return (
    <Fold label={<><span class="soft">data</span> {name} <code class="arguments">{summary(value)}</code></>} tone="data">
      <Json value={value} />
    </Fold>
  );
}

/** What the agent offers to ask next. */
export function FollowUps({ value, onAsk }: { value: unknown; onAsk: (text: string) => void }) {
  const { questions } = (value ?? {}) as { questions?: unknown };
  const texts = Array.isArray(questions) ? questions.filter((text) => typeof text === 'string') : [];
  if (texts.length === 0) return null;
  return <div class="prompts next" role="group" aria-label="Ask next">{texts.map((text) => <button key={text} type="button" onClick={() => onAsk(text)}>{text}</button>)}</div>;
}

export const safeUrl = (url: string | undefined): string | undefined => (url && /^(https?:\/\/|mailto:)/i.test(url) ? url : undefined);

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return '';
  }
}
