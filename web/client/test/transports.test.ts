import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ReplayFilter } from '../dist/transports/replay-filter.js';
import { UIMessageReducer, type UIMessageChunk } from '@headwater/client/ai-sdk';
import { createChatTransport, createConnection, resumableFetch, withConnect } from '@headwater/client/transports';

/** Responds to one request after the other, each with pieces and a way to end. */
function script(...responses: { pieces: string[]; cut?: boolean; status?: number; run?: string }[]) {
  const requests: { url: string; headers: Headers }[] = [];
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    requests.push({ url: String(url), headers: new Headers(init.headers) });
    const { pieces, cut, status = 200, run = 'r1' } = responses.shift() ?? { pieces: [], status: 410 };
    const queue = [...pieces];
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = queue.shift();
        if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
        else if (cut) controller.error(new TypeError('terminated'));
        else controller.close();
      },
    });
    return new Response(body, { status, headers: { 'content-type': 'text/event-stream', 'x-run-id': run } });
  };
  return { requests, options: { fetch: fetch as typeof globalThis.fetch, retryDelay: () => 0 } };
}

const block = (id: number, data: object) => `id: c${id}\ndata: ${JSON.stringify(data)}\n\n`;

test('cut stream continues after its cursor, and half of a block is not passed on', async () => {
  const { requests, options } = script(
    { pieces: [block(1, { n: 1 }), `${block(2, { n: 2 })}id: c3\ndata: {"n":`], cut: true },
    { pieces: [], status: 503 },
    { pieces: [block(3, { n: 3 })] },
    { pieces: [block(4, { type: 'RUN_FINISHED' })] },
  );
  const response = await resumableFetch(options)('http://x/v1/ag-ui/chat?profile=tanstack', { method: 'POST', headers: { 'x-api-key': 'k', 'content-type': 'a' } });
  assert.equal(await response.text(), [block(1, { n: 1 }), block(2, { n: 2 }), block(3, { n: 3 }), block(4, { type: 'RUN_FINISHED' })].join(''));
  assert.deepEqual(requests.slice(1).map(({ url, headers }) => [url, headers.get('last-event-id'), headers.get('x-api-key')]), [
    ...Array.from({ length: 2 }, () => ['http://x/v1/runs/r1/events?dialect=ag-ui&until=wait&profile=tanstack', 'c2', 'k']),
    ['http://x/v1/runs/r1/events?dialect=ag-ui&until=wait&profile=tanstack', 'c3', 'k'],
  ]);
});

test('what is no stream of a run is left alone', async () => {
  const { options } = script({ pieces: ['{}'], status: 401 });
  assert.equal((await resumableFetch(options)('http://x/v1/ag-ui/chat')).status, 401);
  const other = script({ pieces: ['data: 1\n\n'] });
  assert.equal(await (await resumableFetch(other.options)('http://x/elsewhere')).text(), 'data: 1\n\n');
  assert.equal(other.requests.length, 1);
});

test('stream that is gone for good ends, and the client says what it always says', async () => {
  const { requests, options } = script({ pieces: [block(1, { n: 1 })], cut: true }, { pieces: [], status: 404 });
  assert.equal(await (await resumableFetch(options)('http://x/v1/ag-ui/chat')).text(), block(1, { n: 1 }));
  assert.equal(requests.length, 2);
});

async function collect<T>(stream: ReadableStream<T>): Promise<T[]> {
  const items: T[] = [];
  const reader = stream.getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) items.push(step.value);
  return items;
}

async function reduce(stream: ReadableStream<UIMessageChunk>) {
  const reducer = new UIMessageReducer();
  for (const chunk of await collect(stream)) reducer.apply(chunk);
  return reducer.snapshot();
}

const text = (message: { parts: { type: string }[] }) => message.parts.flatMap((part) => (part.type === 'text' ? [(part as unknown as { text: string }).text] : [])).join('');

test('transport of the AI SDK sends what its own sends, and finds nothing to resume', async () => {
  const chunks = [{ type: 'start', messageId: 'm' }, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'Hi' }, { type: 'text-end', id: 't' }, { type: 'finish' }];
  const bodies: unknown[] = [];
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    if (String(url).includes('/stream')) return new Response(null, { status: 204 });
    bodies.push(JSON.parse(String(init.body)));
    return new Response(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`);
  };
  const transport = createChatTransport({ api: 'http://x/v1/ai-sdk/chat?agent=chat', body: { a: 1 }, fetch: fetch as typeof globalThis.fetch });
  const message = await reduce(await transport.sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' }));
  assert.equal(text(message), 'Hi');
  assert.deepEqual(bodies, [{ a: 1, id: 'c', messages: [], trigger: 'submit-message' }]);
  assert.equal(await transport.reconnectToStream({ chatId: 'c' }), null);
});

test('answer of the AI SDK that is sent again is passed on once', async () => {
  const start = { type: 'start', messageId: 'm' };
  const steps = [{ type: 'start-step' }, { type: 'text-start', id: 't' }];
  const tool = [{ type: 'tool-input-available', toolCallId: 'c', toolName: 'f', input: {} }, { type: 'tool-output-available', toolCallId: 'c', output: 1 }];
  const delta = (text: string) => ({ type: 'text-delta', id: 't', delta: text });
  const sse = (...chunks: object[]) => chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  const { options } = script(
    { pieces: sse(start, ...steps, ...tool, delta('a'), delta('b')), cut: true },
    { pieces: sse(start, ...steps, ...tool, delta('abc')), cut: true },
    { pieces: [...sse(start, ...steps, ...tool, delta('abcd'), { type: 'text-end', id: 't' }, { type: 'finish-step' }, { type: 'finish' }), 'data: [DONE]\n\n'] },
  );
  const transport = createChatTransport({ api: 'http://x/v1/ai-sdk/chat', ...options });
  const message = await reduce(await transport.sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' }));
  assert.deepEqual(message.parts, [
    { type: 'step-start' },
    { type: 'text', text: 'abcd', state: 'done' },
    { type: 'tool-f', toolCallId: 'c', state: 'output-available', input: {}, output: 1 },
  ]);
});

test('connection of TanStack and agent of AG-UI are their own, with a fetch and a connect of ours', () => {
  const made = createConnection((url: string, options: { headers?: object; fetchClient: typeof fetch }) => ({ url, options }), '/v1/ag-ui/chat', { headers: { a: 'b' } });
  assert.equal(made.url, '/v1/ag-ui/chat');
  assert.equal(typeof made.options.fetchClient, 'function');
  assert.deepEqual(made.options.headers, { a: 'b' });

  class HttpAgent {
    url: string;
    constructor({ url }: { url: string }) {
      this.url = url;
    }
    requestInit = () => ({ method: 'POST' });
  }
  const Agent = withConnect({ HttpAgent, runHttpRequest: () => 'events', transformHttpEventStream: (source: never) => `stream of ${source as string}` });
  const agent = new Agent({ url: 'http://x/v1/ag-ui/agent/chat/run' }) as unknown as { connect(input: unknown): string };
  assert.equal(agent.connect({}), 'stream of events');
  assert.ok(agent instanceof HttpAgent);
  assert.throws(() => (new Agent({ url: 'http://x/other' }) as unknown as typeof agent).connect({}), { code: 'url.unknown' });
});

test('end inside of what an application sends ends no stream', async () => {
  const inside = (type: string) => [block(1, { type: 'CUSTOM', value: { type } }), block(2, { type: 'STATE_SNAPSHOT', snapshot: [{ type }] })];
  for (const type of ['RUN_FINISHED', 'RUN_ERROR', 'finish', 'abort', 'done']) {
    const { requests, options } = script({ pieces: inside(type), cut: true }, { pieces: [block(3, { type })], cut: true });
    assert.equal(await (await resumableFetch(options)('http://x/v1/ag-ui/chat')).text(), [...inside(type), block(3, { type })].join(''));
    assert.equal(requests.length, 2, type);
  }
});

test('stream that goes silent, and a request that is never answered, are left', async () => {
  const hanging: AbortSignal[] = [];
  const silent = (first: string): Response => new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(first)) }), { headers: { 'content-type': 'text/event-stream', 'x-run-id': 'r1' } });
  const fake = (...responses: (() => Response | undefined)[]) =>
    ((_url: unknown, init: RequestInit = {}) => {
      const response = responses.shift()?.();
      if (response) return Promise.resolve(response);
      hanging.push(init.signal as AbortSignal);
      return new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject((init.signal as AbortSignal).reason)));
    }) as typeof globalThis.fetch;
  const options = { retryDelay: () => 0, stallTimeout: 20 };

  const stream = fake(() => silent(block(1, { n: 1 })), () => undefined, () => new Response(block(2, { type: 'RUN_FINISHED' })));
  const response = await resumableFetch({ ...options, fetch: stream })('http://x/v1/ag-ui/chat');
  assert.equal(await response.text(), block(1, { n: 1 }) + block(2, { type: 'RUN_FINISHED' }));

  const chat = fake(() => silent('data: {"type":"start"}\n\n'), () => undefined, () => new Response('data: {"type":"start"}\n\ndata: {"type":"finish"}\n\n'));
  const chunks = await createChatTransport({ api: 'http://x/v1/ai-sdk/chat', ...options, fetch: chat }).sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' });
  assert.deepEqual(await collect(chunks), [{ type: 'start' }, { type: 'finish' }]);
  assert.deepEqual(hanging.map(({ reason }) => (reason as { code?: string }).code), ['stream.stalled', 'stream.stalled']);
});

test('stream that is cancelled leaves its connection', async () => {
  const signals: AbortSignal[] = [];
  const fetch = (async (_url: unknown, init: RequestInit = {}) => {
    signals.push(init.signal as AbortSignal);
    return new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream', 'x-run-id': 'r1' } });
  }) as typeof globalThis.fetch;
  await (await resumableFetch({ fetch })('http://x/v1/ag-ui/chat')).body?.cancel();
  await (await createChatTransport({ api: 'http://x/v1/ai-sdk/chat', fetch }).sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' })).cancel();
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, true]);
});

test('replay has the rest of a run that ended meanwhile, under the id of the run', async () => {
  const { requests, options } = script(
    { pieces: ['data: {"type":"start"}\n\n'], cut: true },
    { pieces: ['data: {"type":"start"}\n\ndata: {"type":"finish"}\n\n'] },
  );
  const transport = createChatTransport({ api: 'http://x/v1/ai-sdk/chat/chat?profile=ai-7', ...options });
  await reduce(await transport.sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' }));
  assert.equal(requests[1]?.url, 'http://x/v1/runs/r1/events?dialect=ai-sdk&until=wait&profile=ai-7&after=now');
});

describe('chunks of a replay', () => {
  const start = [{ type: 'start', messageId: 'm' }, { type: 'start-step' }];
  const text = (id: string, delta: string) => [{ type: 'text-start', id }, { type: 'text-delta', id, delta }];
  /** What a page is sent over connections with these chunks. */
  const pass = (isExact: boolean, ...connections: UIMessageChunk[][]) => {
    const filter = new ReplayFilter(isExact);
    return connections.map((chunks, at) => {
      if (at > 0) filter.restart();
      return chunks.flatMap((chunk) => filter.pass(chunk));
    });
  };

  test('data without an id comes as often as it was sent', () => {
    const data = { type: 'data-source', data: 1 };
    assert.deepEqual(pass(false, [data, data], [data, data, data], [data, data, data]), [[data, data], [data], []]);
  });

  test('data with an id comes when it changes, and may change back', () => {
    const data = (value: number) => ({ type: 'data-plan', id: 'p', data: value });
    assert.deepEqual(pass(false, [data(1), data(2)], [data(2), data(1)], [data(1)]), [[data(1), data(2)], [data(1)], []]);
  });

  test('transient data is not repeated, and comes again when it is sent again', () => {
    const status = { type: 'data-status', data: 'searching', transient: true };
    const stored = [...start, status, ...text('a', 'x')];
    assert.deepEqual(pass(false, stored, [...stored, ...text('b', 'y'), status]), [stored, [...text('b', 'y'), status]]);
    // A replay of the state has nothing transient.
    assert.deepEqual(pass(false, stored, [...start, ...text('a', 'x'), ...text('b', 'y'), status])[1], [...text('b', 'y'), status]);
  });

  test('parts that were retracted meanwhile are removed, or closed where the client cannot', () => {
    const before = [...start, { type: 'text-start', id: 'kept' }, { type: 'text-delta', id: 'kept', delta: 'k' }, { type: 'text-end', id: 'kept' }, ...text('gone', 'x')];
    const after = [...before.slice(0, 5), ...text('new', 'y')];
    assert.deepEqual(pass(true, before, after, after), [before, [{ type: 'reset-step' }, ...before.slice(2, 5), ...text('new', 'y')], []]);
    assert.deepEqual(pass(false, before, after, after), [before, [{ type: 'text-end', id: 'gone' }, ...text('new', 'y')], []]);
  });
});
