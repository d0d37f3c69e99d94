// A run that is exported as a test runs again without its models, and gives the same streams.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Server } from '../../../conformance/clients/lib/server.mjs';
import { BINARY, stage } from './stage.mjs';

const folder = mkdtempSync(join(tmpdir(), 'studio-export-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Two nodes that ask one model, which fails once: what it says depends on what it is asked. */
function agentFile(name, script) {
  mkdirSync(join(folder, name));
  const file = join(folder, name, 'reporter.yaml');
  const nodes = {
    plan: { reason: { model: 'writer', prompt: 'Plan: {{ input }}' } },
    write: { reason: { model: 'writer', prompt: 'Write: {{ input }}' } },
  };
  writeFileSync(file, JSON.stringify({ name: 'reporter', models: { writer: { script } }, workflows: { report: { start: 'plan', nodes, edges: [{ from: 'plan', to: 'write' }] } } }));
  return file;
}

/** The provider, as the agent sees it. */
const provider = {
  name: 'provider',
  rules: [
    { when: { input_starts_with: 'Plan', attempt: 0 }, say: [{ text: 'I was about to' }, { fault: 'cut' }] },
    { when: { input_starts_with: 'Plan' }, say: [{ reasoning: 'First the source.' }, { text: 'Look it up. Say {{input}} as it is.' }, { source: { url: 'https://example.com/a', title: 'A' } }] },
    { say: [{ tool: { name: 'search', id: 'call-7', input: { q: '{input}' }, output: { hits: 2 } } }, { text: 'Done: {input}' }], usage: { inputTokens: 11, outputTokens: 7 } },
  ],
};
const here = stage({ agents: [agentFile('recorded', provider)] });

/** What differs from run to run: names and times. */
const normal = (text) =>
  text
    .replace(/(run|op|cp|session)_[0-9a-f.]{20,}/g, '$1_x')
    .replace(/"(time|timestamp|createdAt|duration)":\d+/g, '"$1":0')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll('scripted:provider', 'MODEL')
    .replaceAll('scripted:scripted-provider', 'MODEL');

test('exported run is done again by its scripts, without the models, and gives its golden streams', async () => {
  const studio = await here.open('reporter');
  await studio.send('the rivers of {turn}');
  await studio.settled();
  await studio.openTab('Timeline');
  const download = studio.page.waitForEvent('download');
  await studio.press('Export as test');
  await (await download).saveAs(join(folder, 'run.tar'));
  execFileSync('tar', ['xf', 'run.tar'], { cwd: folder });
  const [run] = readdirSync(join(folder, 'golden'));
  const golden = join(folder, 'golden', run);
  // Where text is retracted, AG-UI repeats the conversation, which is beside the events.
  assert.equal(JSON.parse(readFileSync(join(golden, 'conversation.json'), 'utf8')).length, 1);
  const streams = readdirSync(golden).filter((name) => name.endsWith('.sse'));
  assert.deepEqual(streams.map((name) => name.split('.')[0]), ['ag-ui', 'agents', 'ai-sdk', 'kortyx', 'native', 'tanstack']);
  const told = execFileSync(BINARY, ['replay', '--golden', join(folder, 'golden')], { encoding: 'utf8' });
  assert.match(told, /6 streams are the same/);

  const [script] = readdirSync(join(golden, 'scripts'));
  const recorded = JSON.parse(readFileSync(join(golden, 'scripts', script), 'utf8'));
  assert.deepEqual(recorded.rules.map(({ when }) => when), [{ call: 0 }, { call: 1 }, { call: 2 }]);
  const server = await Server.start(BINARY, { agents: [agentFile('again', recorded)] });
  try {
    const url = `http://127.0.0.1:${await server.port}/v1/runs`;
    const body = JSON.stringify({ agent: 'reporter', input: 'the rivers of {turn}', session: studio.session });
    const begun = await (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json();
    for (const name of streams) {
      const [, dialect, profile] = /^([^.]+)\.(.+)\.sse$/.exec(name);
      const read = async () => (await fetch(`${url}/${begun.run}/events?dialect=${dialect}&profile=${encodeURIComponent(profile)}`)).text();
      // Live the deltas come one by one, as in no golden file.
      await read();
      const frames = (await read()).split('\n\n').filter((frame) => frame && !frame.startsWith(':')).map((frame) => `${frame.replace(/^id: .*\n/m, '')}\n\n`).join('');
      assert.equal(normal(frames), normal(readFileSync(join(golden, name), 'utf8')), name);
    }
  } finally {
    await server.stop();
  }
});
