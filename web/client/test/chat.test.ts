import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChat, HeadwaterError, type Chat, type DataEvent, type FinishInfo, type Message } from '@headwater/client';
import { FakeServer, json, until } from './fake-server.js';

const textOf = (message: Message | undefined) => message?.parts.map((part) => ('text' in part ? part.text : '')).join('');
const shown = (chat: Chat) => chat.getSnapshot().messages.map((message) => `${message.role}:${textOf(message)}`);
const began = { type: 'run-started', run: 'r1' } as const;
const finished = { type: 'run-finished', reason: 'stop' } as const;

test('message is sent, answered and finished', async () => {
  const server = new FakeServer();
  const finishes: FinishInfo[] = [];
  const chat = createChat(server.options({ agent: 'chat', session: 's1', onFinish: (info) => finishes.push(info) }));
  const statuses: string[] = [chat.getSnapshot().status];
  chat.subscribe(() => statuses.at(-1) !== chat.getSnapshot().status && statuses.push(chat.getSnapshot().status));
  const sending = chat.send('Hi');
  assert.equal(chat.getSnapshot().messages[0]?.status, 'sending', 'it is shown at once');
  await sending;
  const [request] = server.requests;
  assert.deepEqual(request?.body, { input: 'Hi', session: 's1', agent: 'chat' });
  assert.ok(request?.headers.get('idempotency-key'));
  const stream = await server.stream(0);
  stream.send(began);
  stream.text('Hel');
  await until(() => shown(chat)[1] === 'assistant:Hel');
  stream.text('lo');
  stream.send(finished);
  await until(() => chat.getSnapshot().status === 'ready');
  assert.deepEqual(shown(chat), ['user:Hi', 'assistant:Hello']);
  assert.deepEqual(statuses, ['ready', 'submitted', 'streaming', 'ready']);
  assert.deepEqual(finishes.map(({ message, ...info }) => [textOf(message), info]), [
    ['Hello', { isAbort: false, isDisconnect: false, isError: false, finishReason: 'stop' }],
  ]);
});

test('cut stream continues after its cursor, without a gap or a repetition', async () => {
  const server = new FakeServer();
  const connections = new Set<string>();
  const chat = createChat(server.options({ session: 's1' }));
  chat.subscribe(() => connections.add(chat.getSnapshot().connection));
  await chat.send('Hi');
  const first = await server.stream(0);
  first.send(began);
  first.text('one ');
  await until(() => shown(chat)[1] === 'assistant:one ');
  first.cut();
  const second = await server.stream(1);
  assert.equal(second.request.headers.get('last-event-id'), 'cursor-2');
  assert.equal(second.request.query.get('after'), null);
  second.text('two ');
  second.close();
  const third = await server.stream(2);
  assert.equal(third.request.headers.get('last-event-id'), 'cursor-1', 'a clean end without an end of the run is a cut too');
  third.text('three');
  third.send(finished);
  await until(() => chat.getSnapshot().status === 'ready');
  assert.deepEqual(shown(chat), ['user:Hi', 'assistant:one two three']);
  assert.ok(connections.has('lost'));
});

test('stream that goes silent is left and asked for again', async () => {
  const server = new FakeServer();
  const chat = createChat(server.options({ session: 's1', stallTimeout: 20 }));
  await chat.send('Hi');
  (await server.stream(0)).send(began);
  const second = await server.stream(1);
  assert.ok(server.streams[0]?.isCancelled);
  second.text('back');
  second.send(finished);
  await until(() => chat.getSnapshot().status === 'ready');
  assert.equal(shown(chat)[1], 'assistant:back');
});

test('connection that cannot be had again is an error, and says so once', async () => {
  const server = new FakeServer();
  const errors: HeadwaterError[] = [];
  const finishes: FinishInfo[] = [];
  const chat = createChat(server.options({ session: 's1', maxRetries: 3, onError: (error) => errors.push(error), onFinish: (info) => finishes.push(info) }));
  await chat.send('Hi');
  const stream = await server.stream(0);
  server.on('GET runs/*/events', () => Promise.reject(new TypeError('fetch failed')));
  stream.send(began);
  stream.text('half');
  await until(() => shown(chat)[1] === 'assistant:half');
  stream.cut();
  await until(() => chat.getSnapshot().status === 'error');
  assert.deepEqual(errors.map(({ code }) => code), ['stream.lost']);
  assert.equal(finishes[0]?.isDisconnect, true);
  assert.equal(textOf(finishes[0]?.message), 'half');
  assert.equal(chat.getSnapshot().connection, 'closed');
});

test('refused requests are errors with the code of the server', async () => {
  const cases: [Response, Partial<HeadwaterError>][] = [
    [json({ error: 'show a key', code: 'auth.missing' }, 401), { code: 'auth.missing', status: 401, retryable: false }],
    [json({ error: 'no agent', code: 'agent.unknown' }, 404), { code: 'agent.unknown', status: 404 }],
    [json({ error: 'busy', code: 'session.busy' }, 409), { code: 'session.busy', status: 409 }],
    [json({ error: 'slow down', code: 'rate.limited' }, 429, { 'retry-after': '3600' }), { code: 'rate.limited', retryable: true, retryAfter: 3_600_000 }],
    [new Response('<html>Bad gateway</html>', { status: 502 }), { code: 'http.502', retryable: true }],
    [new Response('<html>Sign in</html>', { status: 200 }), { code: 'http.invalid' }],
  ];
  for (const [response, expected] of cases) {
    const server = new FakeServer().on('POST runs', () => response.clone());
    const reported: HeadwaterError[] = [];
    const chat = createChat(server.options({ onError: (error) => reported.push(error) }));
    await assert.rejects(chat.send('Hi'), (error) => {
      assert.ok(error instanceof HeadwaterError && error.message.length > 3);
      for (const [key, value] of Object.entries(expected)) assert.equal(error[key as keyof HeadwaterError], value, `${key} of ${error.code}`);
      return true;
    });
    const { status, error, messages } = chat.getSnapshot();
    assert.deepEqual([status, messages[0]?.status, error?.code], ['error', 'error', expected.code]);
    assert.equal(reported.length, 1);
  }
});

test('message that the network lost is sent again under the same key, and fails when the server stays away', async () => {
  const server = new FakeServer();
  let failures = 2;
  server.on('POST runs', () => (failures-- > 0 ? Promise.reject(new TypeError('fetch failed')) : json({ run: 'r1', queued: false }, 201)));
  const chat = createChat(server.options());
  await chat.send('Hi');
  const keys = server.requests.filter(({ method }) => method === 'POST').map(({ headers }) => headers.get('idempotency-key'));
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  chat.detach();
  failures = Infinity;
  await assert.rejects(chat.send('Again'), { code: 'network' });
  assert.equal(chat.getSnapshot().messages.at(-1)?.status, 'error');
});

test('ignored promise is not an unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  const server = new FakeServer().on('POST runs', () => json({ error: 'no', code: 'x' }, 401)).on('GET sessions/*', () => json({ error: 'no', code: 'x' }, 401));
  const chat = createChat(server.options());
  void chat.send('Hi');
  void chat.load();
  void chat.stop();
  void chat.answer('q', 'a');
  void chat.regenerate();
  await until(() => server.requests.length >= 5);
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off('unhandledRejection', note);
  assert.deepEqual(unhandled, []);
});

test('request that is never answered times out', async () => {
  const server = new FakeServer().on('POST runs', () => new Promise(() => {}));
  const chat = createChat(server.options({ requestTimeout: 10 }));
  // The timer of the request does not keep a process alive.
  const alive = setInterval(() => {}, 1000);
  await assert.rejects(chat.send('Hi'), { code: 'timeout' });
  clearInterval(alive);
});

test('page, foreign stream and huge event in place of a stream are errors that end it', async () => {
  for (const [body, code] of [
    ['<!doctype html><p>Sign in</p>', 'stream.html'],
    ['data: {"type":"text-delta"}\n\n', 'stream.json'],
    [`data: ${'x'.repeat(2000)}\n\n`, 'stream.too-large'],
  ] as const) {
    const server = new FakeServer().on('GET runs/*/events', () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
    const chat = createChat(server.options({ maxEventLength: 1000 }));
    await chat.send('Hi');
    await until(() => chat.getSnapshot().status === 'error');
    assert.equal(chat.getSnapshot().error?.code, code);
    assert.equal(server.requests.filter(({ path }) => path.endsWith('events')).length, 1, 'asking again would change nothing');
  }
});

test('run that fails shows its code and keeps what it said', async () => {
  const server = new FakeServer();
  const chat = createChat(server.options());
  await chat.send('Hi');
  const stream = await server.stream(0);
  stream.text('half');
  stream.send({ type: 'run-failed', message: 'The model is overloaded.', code: 'model.overloaded', retryable: true });
  await until(() => chat.getSnapshot().status === 'error');
  const { error, messages } = chat.getSnapshot();
  assert.deepEqual([error?.code, error?.retryable, messages[1]?.status, textOf(messages[1])], ['model.overloaded', true, 'error', 'half']);
});

test('reload finds the session in storage, its messages, and the active run', async () => {
  const kept = new Map<string, string>();
  const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) };
  const server = new FakeServer();
  const first = createChat(server.options({ storage: () => storage }));
  const { session } = first.getSnapshot();
  const user: Message = { id: 'msg_user_r1', role: 'user', status: 'sent', parts: [{ type: 'text', id: 'text', text: 'Hi', state: 'done' }] };
  server.on('GET sessions/*', () => json({ id: session, lastRun: 'r1', activeRun: 'r1', waitingRun: null, queued: 0 }));
  server.on('GET sessions/*/messages', () => json({ messages: [user], before: null }));
  const chat = createChat(server.options({ storage }));
  assert.equal(chat.getSnapshot().session, session);
  await chat.load();
  const stream = await server.stream(0);
  assert.equal(stream.request.query.get('after'), 'now');
  stream.send([began, { replay: true }], [{ type: 'block-delta', kind: 'text', id: 't1', delta: 'Hel' }, { replay: true }]);
  await until(() => shown(chat)[1] === 'assistant:Hel');
  stream.cut();
  const again = await server.stream(1);
  assert.equal(again.request.query.get('after'), 'now', 'there was no cursor yet');
  again.send([began, { replay: true }], [{ type: 'block-delta', kind: 'text', id: 't1', delta: 'Hello' }, { replay: true }]);
  again.text(' you');
  again.send(finished);
  await until(() => chat.getSnapshot().status === 'ready' && chat.getSnapshot().connection === 'closed');
  assert.deepEqual(shown(chat), ['user:Hi', 'assistant:Hello you']);
});

test('storage that is full or forbidden is reported, and the chat continues', async () => {
  const forbidden = () => {
    throw new Error('The operation is insecure.');
  };
  for (const storage of [forbidden, { getItem: () => null, setItem: forbidden }]) {
    const errors: string[] = [];
    const server = new FakeServer();
    const chat = createChat(server.options({ storage, onError: ({ code }) => errors.push(code) }));
    assert.deepEqual(errors, ['storage']);
    await chat.send('Hi');
    assert.equal(server.requests[0]?.body.session, chat.getSnapshot().session);
  }
});

test('server that renders a page has no storage, which is no error', () => {
  const errors: string[] = [];
  const storage = (): never => {
    throw new ReferenceError('sessionStorage is not defined');
  };
  const chat = createChat(new FakeServer().options({ storage, onError: ({ code }) => errors.push(code) }));
  assert.deepEqual([errors, chat.getSnapshot().error], [[], undefined]);
});

test('run waits for an approval, a question and a tool of the page', async () => {
  const server = new FakeServer();
  server.on('POST runs/*/answer', () => json({ run: 'r1', since: 1 }, 202));
  server.on('GET runs/*', () => json({ waitsFor: [{ request: 'req3', kind: 'client-tool', tool: { call: 'c2', name: 'where' } }] }));
  const calls: unknown[] = [];
  const chat = createChat(server.options({ tools: { where: (input: { x: number }) => (calls.push(input), Promise.resolve({ city: 'Oslo' })) } }));
  await chat.send('Hi');
  const stream = await server.stream(0);
  stream.send(
    began,
    { type: 'interrupt-requested', request: 'q1', token: 'secret', kind: 'text', question: 'Which?' },
    { type: 'approval-requested', approval: 'req2', call: 'c1', name: 'mail', input: { to: 'ann' } },
    { type: 'tool-input-available', call: 'c2', name: 'where', executor: 'client', input: { x: 1 } },
    { type: 'run-waiting', toolCalls: ['c2'] },
  );
  // Otherwise the server ends the stream here, and an answer in another tab is not seen.
  assert.equal(stream.request.query.get('until'), 'end');
  await until(() => server.requests.some(({ path }) => path.endsWith('answer')));
  assert.deepEqual(chat.getSnapshot().waiting.map(({ kind }) => kind), ['question', 'approval', 'client-tool']);
  assert.equal(chat.getSnapshot().status, 'ready');
  assert.deepEqual(calls, [{ x: 1 }]);
  await chat.answer('q1', 'this');
  await chat.approve('req2', { approved: false, reason: 'no' });
  const bodies = server.requests.filter(({ path }) => path.endsWith('answer')).map(({ body }) => body);
  assert.deepEqual(bodies, [
    { request: 'req3', output: { city: 'Oslo' } },
    { request: 'q1', answer: 'this' },
    { request: 'req2', approved: false, reason: 'no' },
  ]);
  stream.send({ type: 'run-waiting', toolCalls: ['c2'] });
  stream.send({ type: 'interrupt-answered', request: 'q1', answer: 'this' });
  await until(() => chat.getSnapshot().status === 'streaming');
  assert.equal(calls.length, 1, 'a call is executed once');
});

test('tool of the page that fails is reported as the failure of the tool', async () => {
  const server = new FakeServer();
  server.on('POST runs/*/answer', () => json({}, 202)).on('GET runs/*', () => json({ waitsFor: [{ request: 'q', tool: { call: 'c' } }] }));
  const chat = createChat(server.options({ onToolCall: () => Promise.reject(new Error('no GPS')) }));
  await chat.send('Hi');
  (await server.stream(0)).send({ type: 'tool-input-available', call: 'c', name: 'where', executor: 'client' }, { type: 'run-waiting', toolCalls: ['c'] });
  await until(() => server.requests.some(({ path }) => path.endsWith('answer')));
  assert.deepEqual(server.requests.at(-1)?.body, { request: 'q', error: 'no GPS' });
});

test('callbacks see chunks and data, and one that throws ends nothing', async () => {
  const server = new FakeServer();
  const data: DataEvent[] = [];
  const kinds: string[] = [];
  const original = console.error;
  console.error = () => {};
  const chat = createChat(server.options({
    onData: (event) => data.push(event),
    onChunk: ({ event }) => {
      kinds.push(event.type);
      throw new Error('bug in the page');
    },
  }));
  await chat.send('Hi');
  const stream = await server.stream(0);
  stream.send(began, { type: 'data', name: 'progress', data: 1, transient: true }, { type: 'data', name: 'progress', data: 2 }, finished);
  await until(() => chat.getSnapshot().status === 'ready');
  console.error = original;
  assert.deepEqual(kinds, ['run-started', 'data', 'data', 'run-finished']);
  assert.deepEqual(data.map(({ data: value }) => value), [1, 2]);
  assert.equal(chat.getSnapshot().messages[1]?.parts.length, 1);
});

test('detach leaves the stream and stops nothing; stop asks the server', async () => {
  const server = new FakeServer().on('POST runs/*/stop', () => json({ run: 'r1', stopped: true }));
  const chat = createChat(server.options());
  await chat.send('Hi');
  const stream = await server.stream(0);
  stream.send(began);
  await until(() => chat.getSnapshot().status === 'streaming');
  await chat.stop();
  assert.equal(server.requests.at(-1)?.path, 'runs/r1/stop');
  chat.detach();
  await until(() => stream.isCancelled);
  assert.deepEqual([chat.getSnapshot().status, chat.getSnapshot().connection], ['ready', 'closed']);
  assert.equal(server.requests.filter(({ path }) => path.endsWith('stop')).length, 1);
});

test('message that waits in the queue is in the queue, and has its turn when the run ends', async () => {
  const server = new FakeServer();
  const chat = createChat(server.options({ session: 's1' }));
  await chat.send('one');
  const first = await server.stream(0);
  first.send(began);
  const queued = { run: 'r2', checkpoint: 'cp_2', text: 'two', message: {}, label: null, queuedAt: '' };
  server.on('POST runs', () => json({ run: 'r2', queued: true }, 201)).on('GET sessions/*/queue', () => json({ queue: [queued] }));
  await chat.send('two');
  assert.deepEqual(shown(chat), ['user:one', ...shown(chat).slice(1)]);
  assert.deepEqual(chat.getSnapshot().queue.map(({ text }) => text), ['two']);
  const message = (text: string, run: string) => ({ id: `msg_user_${run}`, role: 'user', status: 'sent', parts: [{ type: 'text', id: 'text', text, state: 'done' }] });
  server.on('GET sessions/*/queue', () => json({ queue: [] }));
  server.on('GET sessions/*', () => json({ id: 's1', lastRun: 'r2', activeRun: 'r2', waitingRun: null, queued: 0 }));
  server.on('GET sessions/*/messages', () => json({ messages: [message('one', 'r1'), message('two', 'r2')], before: null }));
  first.send(finished);
  const second = await server.stream(1);
  assert.equal(second.request.path, 'runs/r2/events');
  await until(() => chat.getSnapshot().queue.length === 0);
  assert.deepEqual(shown(chat), ['user:one', 'user:two']);
});

test('turn is named by its message or its checkpoint, and done again', async () => {
  const server = new FakeServer();
  const variants = [{ checkpoint: { id: 'cp_1' }, selected: false }, { checkpoint: { id: 'cp_2' }, selected: true }];
  server.on('GET sessions/*/checkpoints/*/variants', () => json({ variants }));
  server.on('POST sessions/*/checkpoints/*/*', () => json({ run: 'run_c', id: 'forked' }));
  const chat = createChat(server.options({ session: 's1' }));
  await chat.edit('msg_user_run_a', 'better');
  await chat.regenerate();
  await chat.rollBack('msg_run_a');
  assert.equal((await chat.fork('cp_9')).id, 'forked');
  assert.deepEqual(await chat.variants('msg_run_a'), variants);
  await chat.select('cp_1');
  const posts = server.requests.filter(({ method }) => method === 'POST').map(({ path, body }) => [path.replace('sessions/s1/checkpoints/', ''), body.text]);
  assert.deepEqual(posts, [['msg_user_run_a/edit', 'better'], ['latest/regenerate', undefined], ['msg_run_a/rollback', undefined], ['cp_9/fork', undefined], ['cp_1/select', undefined]]);
  server.on('POST sessions/*/checkpoints/*/*', () => json({ error: 'no such turn', code: 'checkpoint.unknown' }, 404));
  await assert.rejects(chat.edit('msg_user_run_x', 'x'), { code: 'checkpoint.unknown' });
});

test('400 chunks that arrive together are one snapshot', async () => {
  const server = new FakeServer();
  const chat = createChat(server.options({ flushInterval: 16 }));
  await chat.send('Hi');
  const stream = await server.stream(0);
  let snapshots = 0;
  chat.subscribe(() => (snapshots += 1));
  stream.send(began, ...Array.from({ length: 400 }, () => ({ type: 'block-delta', kind: 'text', id: 't1', delta: 'x' }) as const));
  await until(() => textOf(chat.getSnapshot().messages[1])?.length === 400);
  assert.ok(snapshots <= 3, `${snapshots} snapshots`);
  const held = chat.getSnapshot();
  assert.equal(chat.getSnapshot(), held, 'the same object between flushes');
});

test('failed look for changes is an error until the next one succeeds', async () => {
  const server = new FakeServer();
  server.on('GET sessions/*', () => Promise.reject(new TypeError('fetch failed')));
  const chat = createChat(server.options({ session: 's1' }));
  await assert.rejects(chat.sync(), { code: 'network' });
  assert.equal(chat.getSnapshot().error?.code, 'network');
  server.on('GET sessions/*', () => json({ id: 's1', lastRun: null, activeRun: null, waitingRun: null, queued: 0 }));
  server.on('GET sessions/*/messages', () => json({ messages: [], before: null }));
  await chat.sync();
  assert.equal(chat.getSnapshot().error, undefined);
});

test('message or answer that is accepted after the page has left is not followed, and load finds its run', async () => {
  const server = new FakeServer();
  let accept!: (response: Response) => void;
  const accepted = () => new Promise<Response>((resolve) => void (accept = resolve));
  server.on('POST runs', accepted).on('POST runs/*/answer', accepted);
  const chat = createChat(server.options({ session: 's1' }));
  const sending = chat.send('Hi');
  await until(() => server.requests.length === 1);
  chat.detach();
  accept(json({ run: 'r1', queued: false }, 201));
  await sending;
  assert.deepEqual([server.streams.length, chat.getSnapshot().connection, chat.getSnapshot().status], [0, 'closed', 'ready']);
  // A page that is there again meanwhile follows it.
  const again = chat.send('Hi again');
  await until(() => server.requests.filter(({ path }) => path === 'runs').length === 2);
  chat.detach();
  void chat.load();
  accept(json({ run: 'r2', queued: false }, 201));
  await again;
  await server.stream(0);
  // The run is known now.
  chat.detach();
  const answering = chat.answer('q1', 'yes');
  await until(() => server.requests.some(({ path }) => path.endsWith('answer')));
  chat.detach();
  accept(json({}, 202));
  await answering;
  assert.equal(server.streams.length, 1);
});

test('tool of the page whose call another tab has answered is no error', async () => {
  for (const [waitsFor, refusal] of [
    [[], undefined],
    [[{ request: 'q', tool: { call: 'c' } }], 'request.answered'],
    [[{ request: 'q', tool: { call: 'c' } }], 'request.not-open'],
    [[{ request: 'q', tool: { call: 'c' } }], 'run.ended'],
  ] as const) {
    const server = new FakeServer().on('GET runs/*', () => json({ waitsFor }));
    server.on('POST runs/*/answer', () => json({ error: 'the question already has a different answer', code: refusal }, 409));
    const errors: string[] = [];
    const chat = createChat(server.options({ tools: { where: () => 'Oslo' }, onError: ({ code }) => errors.push(code) }));
    await chat.send('Hi');
    const stream = await server.stream(0);
    stream.send({ type: 'tool-input-available', call: 'c', name: 'where', executor: 'client' }, { type: 'run-waiting', toolCalls: ['c'] });
    await until(() => server.requests.some(({ path }) => path.endsWith(refusal ? 'answer' : 'r1')));
    stream.send(finished);
    await until(() => chat.getSnapshot().connection === 'closed');
    assert.deepEqual([chat.getSnapshot().error, errors], [undefined, []]);
    // A person who answers sees it.
    await assert.rejects(chat.addToolOutput('c', 'Bergen'), { code: refusal ?? 'request.unknown' });
    chat.detach();
  }
});

test('loaded run is one change of the page, and the snapshot has the messages at once', async () => {
  const server = new FakeServer();
  const user: Message = { id: 'msg_user_r1', role: 'user', status: 'sent', parts: [{ type: 'text', id: 'text', text: 'Hi', state: 'done' }] };
  server.on('GET sessions/*', () => json({ id: 's1', lastRun: 'r1', activeRun: 'r1', waitingRun: null, queued: 0 }));
  server.on('GET sessions/*/messages', () => json({ messages: [user], before: null }));
  const chat = createChat(server.options({ session: 's1' }));
  const pages: string[][] = [];
  chat.subscribe(() => pages.push(shown(chat)));
  await chat.load();
  assert.deepEqual([shown(chat), pages], [['user:Hi'], []]);
  (await server.stream(0)).send([began, { replay: true }], [{ type: 'block-delta', kind: 'text', id: 't1', delta: 'Hello' }, { replay: true }]);
  await until(() => pages.length > 0);
  assert.deepEqual(pages[0], ['user:Hi', 'assistant:Hello']);
  chat.detach();
});

test('loaded run that has nothing to show yet is shown without it', async () => {
  const server = new FakeServer();
  server.on('GET sessions/*', () => json({ id: 's1', lastRun: 'r1', activeRun: 'r1', waitingRun: null, queued: 0 }));
  server.on('GET sessions/*/messages', () => json({ messages: [], before: null }));
  const chat = createChat(server.options({ session: 's1' }));
  let changes = 0;
  chat.subscribe(() => (changes += 1));
  await chat.load();
  await until(() => changes > 0);
  assert.equal(chat.getSnapshot().status, 'submitted');
  chat.detach();
});

for (const [status, code] of [[503, 'server.leaving'], [429, 'runs.too-many']] as const) {
  test(`message refused with ${status} ${code} is sent again when the server asks for it, three times at most`, async () => {
    let refusals = 2;
    const refused = () => json({ error: 'not now', code }, status, { 'retry-after': '0.05' });
    const server = new FakeServer().on('POST runs', () => (refusals-- > 0 ? refused() : json({ run: 'r1', queued: false }, 201)));
    const errors: HeadwaterError[] = [];
    const shownErrors = new Set<string | undefined>();
    const chat = createChat(server.options({ onError: (error) => errors.push(error) }));
    chat.subscribe(() => shownErrors.add(`${chat.getSnapshot().error?.code} ${chat.getSnapshot().messages[0]?.status}`));
    const posts = () => server.requests.filter(({ method }) => method === 'POST');
    await chat.send('Hi');
    assert.equal(posts().length, 3);
    assert.equal(new Set(posts().map(({ headers }) => headers.get('idempotency-key'))).size, 1);
    assert.ok(shownErrors.has(`${code} sending`), 'the page sees why it waits');
    assert.deepEqual([chat.getSnapshot().messages.length, chat.getSnapshot().error, errors], [1, undefined, []]);
    chat.detach();
    refusals = Infinity;
    await assert.rejects(chat.send('Again'), { code, status });
    assert.equal(posts().length, 3 + 4);
    assert.equal(chat.getSnapshot().messages.at(-1)?.status, 'error');
    // Without a time nothing says that it will be taken.
    server.on('POST runs', () => json({ error: 'not now', code }, status));
    await assert.rejects(chat.send('Once'), { code, status });
    assert.equal(posts().length, 3 + 4 + 1);
  });
}

test('time to wait is understood in seconds and as a date', async () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  for (const [header, least, most] of [['120', 120_000, 120_000], [inAnHour, 3_500_000, 3_600_000], ['Wed, 21 Oct 2015 07:28:00 GMT', undefined, undefined], ['soon', undefined, undefined]] as const) {
    const server = new FakeServer().on('POST runs', () => json({ error: 'later', code: 'server.leaving' }, 503, { 'retry-after': header }));
    const error = (await createChat(server.options()).send('Hi').catch((thrown: unknown) => thrown)) as HeadwaterError;
    if (least === undefined) assert.equal(error.retryAfter, undefined, header);
    else assert.ok(error.retryAfter !== undefined && error.retryAfter >= least && error.retryAfter <= most, `${header}: ${error.retryAfter}`);
  }
});

test('computer that wakes up leaves a stream whose heartbeats are missing, and no other', async () => {
  const wake = new EventTarget();
  const { now } = Date;
  Object.assign(globalThis, { addEventListener: wake.addEventListener.bind(wake), removeEventListener: wake.removeEventListener.bind(wake) });
  try {
    const server = new FakeServer();
    const chat = createChat(server.options({ session: 's1' }));
    await chat.send('Hi');
    (await server.stream(0)).send(began);
    await until(() => chat.getSnapshot().status === 'streaming');
    wake.dispatchEvent(new Event('online'));
    assert.equal(server.streams[0]?.isCancelled, false);
    Date.now = () => now() + 20_000;
    wake.dispatchEvent(new Event('online'));
    const second = await server.stream(1);
    assert.equal(second.request.headers.get('last-event-id'), 'cursor-1');
    assert.equal(server.streams[0]?.isCancelled, true);
    second.send(finished);
    await until(() => chat.getSnapshot().status === 'ready');
  } finally {
    Date.now = now;
    Reflect.deleteProperty(globalThis, 'addEventListener');
    Reflect.deleteProperty(globalThis, 'removeEventListener');
  }
});
