import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { ChatAdapter, ChatMessage, ChatRealtimeEvent } from '@mui/x-chat-headless';
import { createHeadwaterAdapter, type HeadwaterAdapter } from '@headwater/mui';
import { adapterFor } from './examples/adapter.js';
import { begin, frames, serve, type Respond } from './server.js';

const start = { type: 'start', messageId: 'm1' };
const delta = (text: string) => ({ type: 'text-delta', id: 't', delta: text });
const finish = { type: 'finish', messageId: 'm1' };
const message: ChatMessage = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hello' }] };
const { signal } = new AbortController();

const open: { close(): void }[] = [];
afterEach(() => open.splice(0).forEach((server) => server.close()));

/** An adapter for a server that does what a test says. */
async function adapterOf(respond: Respond, retries = 3) {
  const server = await serve(respond);
  open.push(server);
  const adapter = createHeadwaterAdapter({ url: server.url, agent: 'chat', retries });
  const events: ChatRealtimeEvent[] = [];
  adapter.subscribe({ onEvent: (event) => events.push(event) });
  return { adapter, server, events };
}

const send = (adapter: HeadwaterAdapter) => adapter.sendMessage({ conversationId: 'c1', message, messages: [message], signal });

async function read(stream: ReadableStream | null): Promise<any[]> {
  const chunks: unknown[] = [];
  const reader = (stream as ReadableStream).getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) chunks.push(step.value);
  return chunks;
}

const textOf = (chunks: any[]) => chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');
const until = async (condition: () => unknown) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
};

test('adapter is one of MUI', () => {
  const adapter: ChatAdapter = adapterFor('http://server.test', async () => 'secret');
  assert.equal(typeof adapter.reconnectToStream, 'function');
});

test('message is sent once, without its envelope around the chunks', async () => {
  const { adapter, server, events } = await adapterOf((_, response) => {
    begin(response, `: alive\n\n${frames(0, start, delta('Hel'), delta('lo'), finish)}`);
    response.end();
  });
  const older: ChatMessage = { id: 'u0', role: 'user', parts: [{ type: 'file', mediaType: 'image/png', url: 'blob:x' }] };
  const chunks = await read(await adapter.sendMessage({ conversationId: 'c1', message, messages: [older, message], signal }));
  assert.deepEqual(chunks, [start, delta('Hel'), delta('lo'), finish]);
  const [{ body, headers, query } = assert.fail()] = server.requests;
  assert.deepEqual(body, { conversationId: 'c1', message, messages: [{ ...older, parts: [] }] });
  assert.ok(headers['idempotency-key']);
  assert.equal(query.get('agent'), 'chat');
  assert.deepEqual(events, [{ type: 'message-updated', message: { ...message, status: 'sent' } }]);
});

for (const [kind, cut] of [['clean', 'end'], ['hard', 'destroy']] as const) {
  test(`${kind} cut is continued after the last event, and nothing comes twice`, async () => {
    const { adapter, server } = await adapterOf((request, response) => {
      // The half of an event that a cut leaves is dropped: it comes again.
      if (request.method === 'POST') begin(response, `${frames(0, start, delta('Hel'))}id: 2\ndata: {"chu`);
      else begin(response, frames(2, delta('lo'), finish));
      setTimeout(() => response[request.method === 'POST' ? cut : 'end'](), 20);
    });
    const chunks = await read(await send(adapter));
    assert.deepEqual(chunks, [start, delta('Hel'), delta('lo'), finish]);
    const [, { headers, path, query } = assert.fail()] = server.requests;
    assert.equal(headers['last-event-id'], '1');
    assert.equal(path, '/v1/mui/chat/stream');
    assert.deepEqual(['conversationId', 'messageId', 'runId'].map((name) => query.get(name)), ['c1', 'm1', 'run_1']);
  });
}

test('response that is cut before its first chunk is asked for again with the same key', async () => {
  const { adapter, server } = await adapterOf((_, response, count) => {
    if (count === 0) begin(response, ': alive\n\n');
    else begin(response, frames(0, start, finish));
    response.end();
  });
  assert.deepEqual(await read(await send(adapter)), [start, finish]);
  const keys = server.requests.map(({ method, headers }) => [method, headers['idempotency-key']]);
  assert.deepEqual(keys[0], keys[1]);
});

test('stream that begins again replaces what was shown', async () => {
  const { adapter, events } = await adapterOf((_, response, count) => {
    begin(response, count === 0 ? frames(0, start, delta('Helo')) : frames(0, start, delta('Hello'), finish));
    response.end();
  });
  const chunks = await read(await send(adapter));
  const again = chunks.findLastIndex(({ type }) => type === 'start');
  assert.deepEqual(chunks.slice(again - 2, again), [{ type: 'text-end', id: 't' }, { type: 'message-updated', message: { id: 'm1', parts: [] } }]);
  assert.deepEqual(events.at(-1), { type: 'message-updated', message: { id: 'm1', parts: [] } });
});

test('connection that is gone for good is a disconnect, which can be reconnected', async () => {
  let isDown = false;
  const { adapter, server } = await adapterOf((_, response, count) => {
    if (isDown) return void response.destroy();
    if (count === 0) begin(response, frames(0, start, delta('Hel')));
    else begin(response, frames(0, start, delta('Hello'), finish));
    isDown = count === 0;
    setTimeout(() => (count === 0 ? response.destroy() : response.end()), 20);
  }, 1);
  const first = await read(await send(adapter));
  assert.equal(first.at(-1).type, 'text-delta', 'it closes without an end');
  isDown = false;
  const second = await read(await adapter.reconnectToStream({ conversationId: 'c1', messageId: 'm1', signal }));
  assert.deepEqual(second, [{ type: 'message-updated', message: { id: 'm1', parts: [] } }, start, delta('Hello'), finish]);
  const { query, headers } = server.requests.at(-1) ?? assert.fail();
  assert.deepEqual([query.get('messageId'), query.get('runId'), headers['last-event-id']], ['m1', 'run_1', undefined]);
});

test('reconnect to a run that is not there gives nothing', async () => {
  const { adapter } = await adapterOf((_, response) => void response.writeHead(204).end());
  assert.equal(await adapter.reconnectToStream({ conversationId: 'c1', messageId: 'm1', signal }), null);
});

test('server that refuses is an error with its words, and is not asked again', async () => {
  for (const status of [401, 404, 409, 429]) {
    const { adapter, server } = await adapterOf((_, response) => void response.writeHead(status).end('{"error":"not now","code":"busy"}'));
    await assert.rejects(send(adapter), { message: 'not now' });
    assert.equal(server.requests.length, 1);
  }
});

test('server in trouble is asked again', async () => {
  const { adapter } = await adapterOf((_, response, count) => {
    if (count < 2) return void response.writeHead(502).end('<html>Bad Gateway</html>');
    begin(response, frames(0, start, finish));
    response.end();
  });
  assert.equal((await read(await send(adapter))).length, 2);
});

test('page of a proxy is not shown', async () => {
  const { adapter } = await adapterOf((_, response) => void response.writeHead(502).end('<html>Bad Gateway</html>'), 0);
  await assert.rejects(send(adapter), { message: 'the server responded with 502' });
});

test('server that is down is an error', async () => {
  const { adapter, server } = await adapterOf(() => {}, 1);
  server.close();
  await assert.rejects(send(adapter), { message: 'cannot reach the server: check the connection and try again' });
});

test('run that fails is an error of its stream', async () => {
  const { adapter } = await adapterOf((_, response) => begin(response, frames(0, start, { type: 'error', errorText: 'out of tokens' })));
  await assert.rejects(read(await send(adapter)), { message: 'out of tokens' });
});

test('answers and stop name the conversation that is read', async () => {
  const { adapter, server } = await adapterOf((_, response, count) => {
    if (count > 0) return void response.writeHead(count === 1 ? 503 : 200).end('{}');
    begin(response, frames(0, start, delta('wait')));
  });
  const reader = (await send(adapter)).getReader();
  await reader.read();
  await adapter.addToolApprovalResponse({ id: 'a1', approved: false, reason: 'no' });
  await adapter.addToolOutput({ toolCallId: 'c', output: 4 });
  adapter.stop();
  await until(() => server.requests.length === 5);
  const [, lost, approval, output, stop] = server.requests.map(({ body }) => body);
  assert.deepEqual(approval, { conversationId: 'c1', id: 'a1', approved: false, reason: 'no' });
  assert.deepEqual(lost, approval, 'what was lost is sent again');
  assert.deepEqual(output, { conversationId: 'c1', toolCallId: 'c', output: 4 });
  assert.deepEqual(stop, { conversationId: 'c1', messageId: 'm1', runId: 'run_1' });
  await reader.cancel();
});

test('regenerate names the answer that is replaced', async () => {
  const { adapter, server } = await adapterOf((_, response) => {
    begin(response, frames(0, start, finish));
    response.end();
  });
  await read(await adapter.regenerate({ conversationId: 'c1', messageId: 'old', message, messages: [message], signal }));
  assert.deepEqual(server.requests[0]?.body, { conversationId: 'c1', messageId: 'old', message, messages: [] });
});

test('conversation that is opened while a run is active is followed', async () => {
  const page = { messages: [message], cursor: null, hasMore: false };
  const tool = { toolCallId: 'k', toolName: 'delete' };
  const { adapter, events, server } = await adapterOf((request, response) => {
    if (!request.path.endsWith('/stream')) return void response.end(JSON.stringify(page));
    const chunks = [
      start, { type: 'start-step' }, { type: 'reasoning-delta', id: 'r', delta: 'hm' }, delta('Hel'), delta('lo'), { type: 'text-end', id: 't' },
      { type: 'tool-input-available', ...tool, input: { path: 'x' } }, { type: 'tool-output-denied', ...tool, reason: 'no' },
      { type: 'data-grid', id: 'd', data: 1 }, { type: 'message-metadata', metadata: { model: 'm' } }, finish,
    ];
    begin(response, frames(0, ...chunks));
    response.end();
  });
  const messages = [{ ...message, conversationId: 'c1' }];
  assert.deepEqual(await adapter.listMessages({ conversationId: 'c1' }), { ...page, messages });
  await until(() => events.some((event) => event.type === 'message-updated' && event.message.status === 'sent'));
  assert.ok(events.length <= 2, 'many chunks are one report');
  assert.deepEqual((events.at(-1) as { message: unknown }).message, {
    id: 'm1', conversationId: 'c1', role: 'assistant', status: 'sent', metadata: { model: 'm' },
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', text: 'hm', state: 'streaming' },
      { type: 'text', text: 'Hello', state: 'done' },
      { type: 'tool', toolInvocation: { ...tool, input: { path: 'x' }, approval: { approved: false, reason: 'no' }, state: 'output-denied' } },
      { type: 'data-grid', id: 'd', data: 1 },
    ],
  });
  // An older page of the same conversation is only a page.
  await adapter.listMessages({ conversationId: 'c1', cursor: '1', direction: 'backward' });
  assert.equal(server.requests.filter(({ path }) => path.endsWith('/stream')).length, 1);
});

test('event in many pieces, and one of ten megabytes', async () => {
  const long = 'x'.repeat(10 * 1024 * 1024);
  const { adapter } = await adapterOf((_, response) => {
    begin(response, '');
    const text = frames(0, start, delta('é😀\u2028'), delta(long), finish);
    const bytes = Buffer.from(text);
    for (let at = 0; at < 200; at += 1) response.write(bytes.subarray(at, at + 1));
    response.end(bytes.subarray(200));
  });
  assert.equal(textOf(await read(await send(adapter))), `é😀\u2028${long}`);
});
