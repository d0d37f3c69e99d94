import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UIMessageReducer, type UIMessageChunk } from '@headwater/client/ai-sdk';
import { createChatTransport, createConnection, resumableFetch, withConnect } from '@headwater/client/transports';
import { binary, RealServer } from './real-server.js';

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

async function reduce(stream: ReadableStream<UIMessageChunk>) {
  const reducer = new UIMessageReducer();
  const reader = stream.getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) reducer.apply(step.value);
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

describe('transport with a real server', { skip: !binary, timeout: 60_000 }, () => {
  test('answer of the AI SDK survives a kill of the server', async () => {
    const server = await new RealServer().start();
    try {
      let connections = 0;
      const counting: typeof fetch = (...request) => ((connections += 1), fetch(...request));
      const transport = createChatTransport({ api: `${server.url}/v1/ai-sdk/chat?agent=chat`, fetch: counting, retryDelay: () => 50, maxRetries: 1000 });
      const send = (chatId: string) =>
        transport.sendMessages({ chatId, trigger: 'submit-message', messages: [{ id: `${chatId}-1`, role: 'user', parts: [{ type: 'text', text: 'long' }] }] });
      const undisturbed = await reduce(await send('one'));
      const stream = await send('two');
      const [first, second] = stream.tee();
      const reader = first.getReader();
      for (let deltas = 0; deltas < 50; ) deltas += (await reader.read()).value?.type === 'text-delta' ? 1 : 0;
      void reader.cancel();
      const reading = reduce(second);
      await server.kill();
      await server.start();
      const disturbed = await reading;
      assert.ok(connections > 2, 'it reconnected');
      // Deltas lost with the process are sent again in a new part: the profile cannot retract.
      assert.ok(text(disturbed).endsWith(text(undisturbed).slice(-200)), text(disturbed).slice(-250));
    } finally {
      await server.stop();
    }
  });
});
