// The published client follows runs of an agent, without any setting.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { stream } from '@durable-streams/client';
import { Server } from '../clients/lib/server.mjs';

let server;
let base;
beforeAll(async () => {
  server = await Server.start(process.env.HEADWATER_BINARY, { pace: '20ms', keepsPort: true });
  base = `http://127.0.0.1:${await server.port}`;
});
afterAll(() => server?.stop());

/** Starts a run, and gives the URL of its stream. */
async function start(text) {
  const response = await fetch(`${base}/v1/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input: text }),
  });
  const body = await response.text();
  expect(response.ok, body).toBe(true);
  const { run, id } = JSON.parse(body);
  return `${base}/v1/streams/runs/${run?.id ?? run ?? id}`;
}

/** What the client has received once the stream is closed. */
async function all(url, options = {}) {
  const response = await stream({ url, json: true, offset: '-1', ...options });
  // A response that ends by itself is read as a whole: `closed` resolves before a subscriber has seen all of it.
  if (options.live !== 'sse') return response.json();
  const records = [];
  response.subscribeJson((batch) => void records.push(...batch.items));
  await response.closed;
  return records;
}

test('a live run is followed to its end, and read again afterwards', async () => {
  const url = await start('Plan a weekend in Lisbon');
  const live = await all(url, { live: 'sse' });
  expect(live.length).toBeGreaterThan(3);
  expect(await all(url, { live: false })).toEqual(live);
  expect(await all(url, { live: 'long-poll' })).toEqual(live);
  expect(live[0].event.type).toBe('run-started');
  expect(live.at(-1).event.type).toBe('run-finished');
});

test('a reader that stopped continues after its offset', async () => {
  const url = await start('Plan a weekend in Lisbon');
  const live = await all(url, { live: 'sse' });
  const seen = [];
  for (let offset = '-1', closed = false; !closed; ) {
    const response = await fetch(`${url}?offset=${offset}&live=long-poll`);
    if (response.status === 200) seen.push(...(await response.json()));
    offset = response.headers.get('stream-next-offset');
    closed = response.headers.get('stream-closed') === 'true';
  }
  expect(seen).toEqual(live);
});

test('a run that the server was killed in continues in the same stream', async () => {
  const url = await start('Plan a weekend in Lisbon');
  const first = await fetch(`${url}?offset=-1&live=long-poll`);
  const seen = await first.json();
  const offset = first.headers.get('stream-next-offset');
  await server.restart();
  seen.push(...(await all(url, { offset, live: 'sse' })));
  const whole = await all(url, { live: false });
  // Records that were sent and not yet written when the server died are retracted by one that follows them.
  const written = new Set(whole.map((record) => JSON.stringify(record)));
  const kept = seen.filter((record) => written.has(JSON.stringify(record)));
  expect(kept).toEqual(whole);
});

test('streams of others and offsets of others are refused', async () => {
  const missing = await fetch(`${base}/v1/streams/runs/run_none`);
  expect(missing.status).toBe(404);
  const url = await start('Plan a weekend in Lisbon');
  const wrong = await fetch(`${url}?offset=0000000000000999_0000000000000999`);
  expect(wrong.status).toBe(400);
  const head = await fetch(url, { method: 'HEAD' });
  expect(head.status).toBe(200);
  expect(head.headers.get('stream-next-offset')).toMatch(/^\d{16}_\d{16}$/);
  const write = await fetch(url, { method: 'PUT' });
  expect(write.status).toBe(405);
});
