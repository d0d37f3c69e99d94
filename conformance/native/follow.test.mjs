// The reader of docs/native.md, taken from there word for word, on a server that is killed in the middle of an answer.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { Server } from '../clients/lib/server.mjs';

const docs = await readFile(new URL('../../docs/native.md', import.meta.url), 'utf8');
const [, code] = docs.match(/```js\n(.*?)```/s);
const { follow } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

const server = await Server.start(process.env.HEADWATER_BINARY, { keepsPort: true, pace: '30ms' });
after(() => server.stop());

/** Follows a new run of the demo agent; `seen` is called with the number of text deltas so far. */
async function answer(seen = () => {}) {
  const base = `http://127.0.0.1:${await server.port}`;
  const response = await fetch(`${base}/v1/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'chat', input: 'hello' }),
  });
  const { run } = await response.json();
  const parts = new Map();
  const records = [];
  let deltas = 0;
  await follow(base, run, (record) => {
    const { attempt, message, event } = record;
    records.push(record);
    const key = `${message} ${event.id}`;
    if (event.type === 'block-delta' && event.kind === 'text') {
      parts.set(key, { attempt, text: (parts.get(key)?.text ?? '') + event.delta });
      seen((deltas += 1));
    }
    if (event.type === 'message') parts.set(records.length, { attempt, text: event.content });
    if (event.type === 'attempt-retracted') {
      for (const [key, part] of parts) if (part.attempt === event.attempt) parts.delete(key);
    }
  });
  return { text: [...parts.values()].map(({ text }) => text).join(''), records };
}

test('reader of a killed server ends with the text of an undisturbed run', async () => {
  const undisturbed = await answer();
  assert.ok(undisturbed.text.length > 20, undisturbed.text);
  assert.equal(undisturbed.records[0].version, 1);
  let killed = null;
  const disturbed = await answer((deltas) => {
    if (deltas === 3) killed = server.restart();
  });
  assert.ok(killed, 'the server was killed in the middle');
  await killed;
  assert.equal(disturbed.text, undisturbed.text);
  const numbers = disturbed.records.map(({ seq }) => seq);
  assert.deepEqual(numbers, numbers.toSorted((a, b) => a - b), 'the numbers grow');
});
