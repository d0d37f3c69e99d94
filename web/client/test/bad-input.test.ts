// What a server, a proxy or a browser may do to a chat, over a real network: each is an error with a code and a plain
// message in the snapshot, nothing hangs, and no rejection is left unhandled.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, test } from 'node:test';
import { createChat, type Chat, type ChatOptions } from '@headwater/client';
import { until } from './fake-server.js';

type Handler = (response: ServerResponse, request: IncomingMessage, count: number) => void;

const close: (() => void)[] = [];
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);
process.on('unhandledRejection', note);
afterEach(() => {
  for (const end of close.splice(0)) end();
  assert.deepEqual(unhandled.splice(0), []);
});
after(() => process.off('unhandledRejection', note));

const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Handler => (response) =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(typeof value === 'string' ? value : JSON.stringify(value));
const stream = (text: string, type = 'text/event-stream'): Handler => (response) => void response.writeHead(200, { 'content-type': type }).end(text);

const record = (seq: number, event: object) => `id: c${seq}\ndata: ${JSON.stringify({ seq, message: 'm1', event })}\n\n`;
const words = (text: string) => ({ type: 'block-delta', kind: 'text', id: 't1', delta: text });
const good = record(1, { type: 'run-started', run: 'r1' }) + record(2, words('Hello')) + record(3, { type: 'run-finished' });

/** A server with a route for messages, one for their streams and one for the rest, each of which a test may replace. */
async function serve({ send = json({ run: 'r1', queued: false }, 201), events = stream(good), session = json({ error: 'none', code: 'session.unknown' }, 404) }: { send?: Handler; events?: Handler; session?: Handler } = {}) {
  const counts = { send: 0, events: 0, session: 0 };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x');
    const route = request.method === 'POST' ? 'send' : pathname.endsWith('/events') ? 'events' : pathname.endsWith('/queue') ? undefined : 'session';
    if (!route) return json({ queue: [] })(response, request, 0);
    request.resume();
    return { send, events, session }[route](response, request, (counts[route] += 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  close.push(() => (server.closeAllConnections(), server.close()));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, counts };
}

const open = (url: string, options: Partial<ChatOptions> = {}): Chat => {
  const chat = createChat({ url, retryDelay: () => 1, maxRetries: 3, flushInterval: 0, requestTimeout: 5000, ...options });
  close.push(() => chat.detach());
  return chat;
};

/** A message that the chat shows for an error: words, and nothing of the machine. */
function assertPlain(chat: Chat, code: string | RegExp): void {
  const { error, status } = chat.getSnapshot();
  assert.ok(error, 'the error is in the snapshot');
  if (typeof code === 'string') assert.equal(error.code, code);
  else assert.match(error.code, code);
  assert.match(error.message, /\w+ \w+/);
  assert.doesNotMatch(error.message.replace(/unexpected event: .*/, ''), /<|object Object|undefined|null|TypeError|Cannot read|JSON at|ECONN|fetch failed/);
  assert.equal(status, 'error');
}

async function sendsBadly(chat: Chat, code: string | RegExp): Promise<void> {
  await assert.rejects(chat.send('Hi'), { name: 'HeadwaterError' });
  assertPlain(chat, code);
  assert.equal(chat.getSnapshot().messages.at(-1)?.status, 'error', 'the message is marked');
}

async function endsBadly(chat: Chat, code: string | RegExp): Promise<void> {
  await chat.send('Hi');
  await until(() => chat.getSnapshot().status === 'error');
  assertPlain(chat, code);
  assert.equal(chat.getSnapshot().connection, 'closed');
}

const answers = async (chat: Chat, text = 'Hello') => {
  await chat.send('Hi');
  await until(() => chat.getSnapshot().connection === 'closed');
  assert.equal(chat.getSnapshot().error, undefined);
  assert.match(JSON.stringify(chat.getSnapshot().messages.at(-1)), new RegExp(text));
};

test('server that is down is an error, and the chat works when it is back', async () => {
  const { url } = await serve();
  let isDown = true;
  const chat = open(url, { fetch: (input, init) => fetch(isDown ? 'http://127.0.0.1:9/' : input, init) });
  await assert.rejects(chat.load(), { code: 'network' });
  assert.match(chat.getSnapshot().error?.message ?? '', /cannot reach the server/);
  await sendsBadly(chat, 'network');
  isDown = false;
  await answers(chat);
});

for (const [status, body, code] of [
  [401, { error: 'show a key', code: 'auth.missing' }, 'auth.missing'],
  [404, { error: 'no such agent', code: 'agent.unknown' }, 'agent.unknown'],
  [409, { error: 'another run is active', code: 'session.busy' }, 'session.busy'],
  [429, { error: 'too many requests', code: 'rate.limited' }, 'rate.limited'],
  [401, '<html>Sign in</html>', 'http.401'],
  [503, 'upstream connect error', 'http.503'],
  [500, '', 'http.500'],
  [400, '[1]', 'http.400'],
  [400, 'null', 'http.400'],
  [400, { error: { message: 'of another server' } }, 'http.400'],
  [400, { error: 'of yet another', code: 17 }, '17'],
] as const) {
  test(`${status} ${typeof body === 'string' ? body : JSON.stringify(body)} in place of a run, a session and a stream is an error`, async () => {
    const refuse = json(body, status);
    const { url, counts } = await serve({ send: refuse });
    await sendsBadly(open(url), code);
    assert.equal(counts.send, 1);

    const other = await serve({ session: refuse });
    const chat = open(other.url);
    await assert.rejects(chat.load(), { code, status });
    assert.equal(chat.getSnapshot().error?.code, code);

    const third = await serve({ events: refuse });
    // What may pass is asked for again, until the connection counts as lost.
    await endsBadly(open(third.url), status === 429 || status >= 500 ? 'stream.lost' : code);
    assert.equal(third.counts.events, status === 429 || status >= 500 ? 3 : 1);
  });
}

test('429 with Retry-After is waited for, and a date or nonsense there is not', async () => {
  for (const [value, retryAfter] of [['0.05', 50], ['Wed, 21 Oct 2026 07:28:00 GMT', undefined], ['soon', undefined], ['-5', undefined]] as const) {
    const limited = json({ error: 'too many requests', code: 'rate.limited' }, 429, { 'retry-after': value });
    const refused = open((await serve({ send: limited })).url);
    await assert.rejects(refused.send('Hi'), { code: 'rate.limited', retryable: true, retryAfter });

    const begun = performance.now();
    const { url } = await serve({ events: (response, request, count) => (count === 1 ? limited : stream(good))(response, request, count) });
    await answers(open(url));
    if (retryAfter) assert.ok(performance.now() - begun >= retryAfter);
  }
});

test('page in place of JSON or of a stream is an error', async () => {
  const page = stream('<!doctype html><title>Sign in</title>', 'text/html');
  await sendsBadly(open((await serve({ send: page })).url), 'http.invalid');
  const chat = open((await serve({ session: page })).url);
  await assert.rejects(chat.load(), { code: 'http.invalid' });
  await endsBadly(open((await serve({ events: page })).url), 'stream.html');
});

for (const body of ['null', '3', '"ok"', '[]', '{}', '{"run":null}', '{"run":7}']) {
  test(`${body} in place of a run is an error`, async () => {
    await sendsBadly(open((await serve({ send: json(body) })).url), 'http.invalid');
  });
}

test('stream that lies about its type is read by its bytes', async () => {
  const lines = good.replace(/^id: .*\n/gm, '').replace(/^data: /gm, '').replace(/\n\n/g, '\n');
  for (const [text, type] of [
    [good, 'text/html'], [good, 'application/octet-stream'], [good, 'application/json'], [good, ''],
    [lines, 'text/event-stream'], [lines, 'text/plain'], [`\n\n: hello\n\n${good}`, 'text/html'], [good.replace(/\n/g, '\r\n'), 'text/plain'],
  ] as const) await answers(open((await serve({ events: stream(text, type) })).url));
});

test('bytes that are no stream are an error', async () => {
  for (const [text, code] of [
    [`data: ${'{'.repeat(100_000)}\n\n`, 'stream.json'], ['data: null\n\n', 'stream.json'], ['data: 7\n\n', 'stream.json'], ['data: {"event":null}\n\n', 'stream.json'],
    ['{"type":"text-delta","delta":"of another protocol"}\n', 'stream.json'], ['data: hello\n\n', 'stream.json'],
    // Nothing that could be an event: the stream is cut as often as it is asked for.
    ['', 'stream.lost'], ['\0\x01\x02\xff\xfe', 'stream.lost'], ['Service unavailable', 'stream.lost'],
  ] as const) {
    await endsBadly(open((await serve({ events: stream(text) })).url), code);
  }
});

test('records with wrong fields are errors or passed over, and the rest is read', async () => {
  const odd = [
    { type: 'a-later-version' }, { type: 'block-delta' }, { type: 'tool-input-delta', call: 'x' }, { type: 'tool-output' }, { type: 'structured' },
    { type: 'structured', streamId: '__proto__', dataType: 'x', kind: 'text-delta', path: 'constructor.prototype', delta: 'x' },
    { type: 'interrupt-requested' }, { type: 'messages-snapshot', messages: [] }, { type: 'state-delta', patch: 'x' }, { type: 'data' }, { type: 'run-waiting' },
    { type: 'approval-requested', approval: 'a' }, { type: 'message-started' },
  ];
  for (const event of odd) {
    const events = stream(record(1, { type: 'run-started', run: 'r1' }) + record(2, event) + record(3, words('Hello')) + record(4, { type: 'run-finished' }));
    const chat = open((await serve({ events })).url);
    await chat.send('Hi');
    await until(() => chat.getSnapshot().connection === 'closed');
    const { error, messages } = chat.getSnapshot();
    if (error) assert.deepEqual([error.code, error.message], ['stream.invalid', 'the update does not fit'], JSON.stringify(event));
    assert.match(JSON.stringify(messages), /Hello/, JSON.stringify(event));
  }
  assert.equal(({} as { x?: unknown }).x, undefined);
});

test('event of 10 MB is an error, or is read where it is allowed, also in small pieces', async () => {
  const text = 'x'.repeat(10 * 1024 * 1024);
  const events: Handler = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const bytes = Buffer.from(record(1, words(text)) + record(2, { type: 'run-finished' }));
    for (let at = 0; at < bytes.length; at += 16_384) response.write(bytes.subarray(at, at + 16_384));
    response.end();
  };
  const { url, counts } = await serve({ events });
  await endsBadly(open(url), 'stream.too-large');
  assert.equal(counts.events, 1);
  const begun = performance.now();
  const chat = open(url, { maxEventLength: 16 * 1024 * 1024 });
  await answers(chat, 'x{100}');
  assert.ok(performance.now() - begun < 10_000, 'the time grows with the length, not with its square');
});

test('response that breaks off is asked for again, and then is an error', async () => {
  const broken: Handler = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"run":"r');
    setTimeout(() => response.destroy(), 5);
  };
  const { url, counts } = await serve({ send: broken });
  await sendsBadly(open(url), 'network');
  assert.equal(counts.send, 4);
  const half = record(1, { type: 'run-started', run: 'r1' }) + record(2, words('Hel'));
  const cut: Handler = (response, request, count) => {
    const rest = request.headers['last-event-id'] === 'c2' ? record(3, words('lo')) + record(4, { type: 'run-finished' }) : half;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(rest);
    setTimeout(() => (count === 1 ? response.destroy() : response.end()), 5);
  };
  await answers(open((await serve({ events: cut })).url));
});

test('server that never responds, or never ends a stream, is left', async () => {
  const silent = await serve({ send: () => {} });
  await sendsBadly(open(silent.url, { requestTimeout: 50 }), 'timeout');
  const stalled = await serve({ events: (response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': alive\n\n') });
  await endsBadly(open(stalled.url, { stallTimeout: 30 }), 'stream.lost');
});

test('redirects that never end are an error', async () => {
  const { url } = await serve({ send: (response) => void response.writeHead(307, { location: '/v1/runs' }).end() });
  await sendsBadly(open(url), 'network');
});

test('storage that is full, forbidden, broken or holds nonsense is reported, and the chat continues', async () => {
  const throwing = (name: string) => () => {
    throw new DOMException('no', name);
  };
  const { url } = await serve();
  for (const storage of [
    { getItem: () => null, setItem: throwing('QuotaExceededError') }, { getItem: throwing('SecurityError'), setItem: () => {} }, throwing('SecurityError'),
  ]) {
    const chat = open(url, { storage });
    const { error, session } = chat.getSnapshot();
    assert.equal(error?.code, 'storage');
    assert.ok(session);
    await answers(chat);
  }
  const kept = open(url, { storage: { getItem: () => '', setItem: () => {} } });
  assert.match(kept.getSnapshot().session, /.{8}/, 'an empty name is not a name');
  await answers(kept);
});

test('clock that is wrong, or jumps, changes nothing', async (context) => {
  for (const now of [0, Date.UTC(2099), Date.UTC(1970)]) {
    context.mock.timers.enable({ apis: ['Date'], now });
    await answers(open((await serve()).url));
    context.mock.timers.reset();
  }
  const { url } = await serve({
    events: (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(record(1, words('Hel')));
      context.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2099) });
      setTimeout(() => response.end(record(2, words('lo')) + record(3, { type: 'run-finished' })), 20);
    },
  });
  await answers(open(url, { stallTimeout: 5000 }));
});
