import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeadwaterError, readEvents, readStream } from '@headwater/client';
import { collect, streamOf } from './vectors.js';

const values = (...pieces: (string | Uint8Array)[]) => collect(readStream(streamOf(...pieces)));
const fails = (code: string) => (error: unknown) => error instanceof HeadwaterError && error.code === code && error.message.length > 10;

test('line ends are LF, CR and CRLF, also where they are split', async () => {
  for (const end of ['\n', '\r', '\r\n']) {
    const text = [`data: {"a":`, `data: 1}`, ``, `: comment`, `data:{"b":2}`, ``, ``].join(end);
    assert.deepEqual(await values(text), [{ a: 1 }, { b: 2 }], JSON.stringify(end));
    assert.deepEqual(await values(...text), [{ a: 1 }, { b: 2 }], `${JSON.stringify(end)}, one character at a time`);
  }
});

test('characters and the byte order mark may be split between pieces', async () => {
  const bytes = new TextEncoder().encode('\ufeffdata: "héllo 😀"\n\n');
  assert.deepEqual(await values(...[...bytes].map((byte) => new Uint8Array([byte]))), ['héllo 😀']);
});

test('last event without its blank line counts if it is complete', async () => {
  assert.deepEqual(await values('data: 1\n\ndata: 2'), [1, 2]);
  assert.deepEqual(await values('data: 1\n\ndata: {"half'), [1]);
  assert.deepEqual(await values('{"a":1}\n{"a":2}'), [{ a: 1 }, { a: 2 }]);
  assert.deepEqual(await values('{"a":1}\n{"a":'), [{ a: 1 }]);
});

test('[DONE] ends the stream and closes the connection', async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\ndata: [DONE]\n\ndata: 2\n\n')),
    cancel: () => void (cancelled = true),
  });
  assert.deepEqual(await collect(readStream(body)), [1]);
  assert.ok(cancelled);
});

test('names and cursors belong to their own block', async () => {
  const events = await collect(readEvents(streamOf('id: 7\nevent: delta\ndata: a\ndata: b\n\nid: x\n\ndata: c\nunknown: d\n\n')));
  assert.deepEqual(events, [{ event: 'delta', id: '7', data: 'a\nb' }, { data: 'c' }]);
});

test('page instead of a stream is named, whatever its type says', async () => {
  const response = new Response('<!doctype html><p>Sign in</p>', { headers: { 'content-type': 'text/event-stream' } });
  await assert.rejects(collect(readStream(response)), fails('stream.html'));
});

test('NDJSON that calls itself SSE is read', async () => {
  const response = new Response('{"a":1}\n\n{"a":2}\n', { headers: { 'content-type': 'text/event-stream' } });
  assert.deepEqual(await collect(readStream(response)), [{ a: 1 }, { a: 2 }]);
});

test('event of ten megabytes is refused before it is there', async () => {
  let sent = 0;
  const piece = new TextEncoder().encode('x'.repeat(64 * 1024));
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('data: ')),
    pull(controller) {
      sent += piece.length;
      controller.enqueue(piece);
    },
  });
  await assert.rejects(collect(readStream(body)), fails('stream.too-large'));
  assert.ok(sent < 10_000_000, `${sent} bytes were read`);
  await assert.rejects(collect(readStream(streamOf('data: aa\ndata: aa\n\n'), { maxEventLength: 4 })), fails('stream.too-large'));
});

test('event that is not JSON is an error', async () => {
  await assert.rejects(values('data: nope\n\n'), fails('stream.json'));
});

test('response without a body is an error', async () => {
  await assert.rejects(collect(readStream(null)), fails('stream.empty'));
});

test('abort ends a read that waits for a silent server', async () => {
  const controller = new AbortController();
  const body = new ReadableStream<Uint8Array>({ start: (stream) => stream.enqueue(new TextEncoder().encode('data: 1\n\n')) });
  const read = readStream(body, { signal: controller.signal });
  assert.deepEqual(await read.next(), { value: 1, done: false });
  const next = read.next();
  controller.abort(new Error('left'));
  await assert.rejects(next, /left/);
});

test('comments count as activity', async () => {
  let alive = 0;
  await collect(readStream(streamOf(': ping\n\n', ': ping\n\n', 'data: 1\n\n'), { onActivity: () => (alive += 1) }));
  assert.equal(alive, 3);
});
