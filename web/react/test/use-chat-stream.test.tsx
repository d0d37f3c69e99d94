import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { act, complaints, render, until } from './dom.js';
import { useChatStream, type UseChatStream } from '@headwater/react';
import type { ChatStreamOptions } from '@headwater/client/agents';

afterEach(() => assert.deepEqual(complaints.splice(0), []));

let chat: UseChatStream;

function Page({ options }: { options: ChatStreamOptions }) {
  chat = useChatStream(options);
  const texts = chat.messages.map(({ role, parts }) => `${role}:${parts.map((part) => part['text'] ?? part.type).join('|')};`);
  return <p>{texts}{chat.status}{chat.error?.message}</p>;
}

/** An endpoint that responds with these bodies, one after the other. */
function endpoint(...bodies: (string | Response)[]) {
  const requests: { headers: Headers; body: any }[] = [];
  const fetch = async (_: unknown, init: RequestInit = {}) => {
    requests.push({ headers: new Headers(init.headers), body: JSON.parse(String(init.body)) });
    const body = bodies.shift() ?? '';
    return body instanceof Response ? body : new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
  return { requests, options: { api: '/api/chat', fetch: fetch as typeof globalThis.fetch, retryDelay: () => 0, flushInterval: 0 } };
}

const event = (type: string, data: object, id?: string) => `${id ? `id: ${id}\n` : ''}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
const start = event('message.start', { messageId: 'm1', role: 'assistant' });
const done = event('done', { runId: 'r1', finishReason: 'stop' });

test('answer is streamed after the messages were sent', async () => {
  const { requests, options } = endpoint(start + event('message.delta', { messageId: 'm1', delta: 'Hello' }) + done);
  const page = await render(<Page options={{ ...options, body: { projectId: 'p' }, initialMessages: [{ id: 'a', role: 'assistant', parts: [{ type: 'text', text: 'Welcome' }] }] }} />);
  assert.equal(page.text(), 'assistant:Welcome;ready');
  await act(() => chat.sendMessage('Hi', { toolChoice: 'auto' }));
  assert.equal(page.text(), 'assistant:Welcome;user:Hi;assistant:Hello;ready');
  const { messages, ...rest } = requests[0]?.body;
  assert.deepEqual(rest, { projectId: 'p', toolChoice: 'auto' });
  assert.equal(messages.length, 2);
  await page.unmount();
});

test('cut stream continues after its cursor', async () => {
  const { requests, options } = endpoint(start + event('message.delta', { messageId: 'm1', delta: 'Hel' }, 'c2'), event('message.delta', { messageId: 'm1', delta: 'lo' }, 'c3') + done);
  const page = await render(<Page options={options} />);
  await act(() => chat.sendMessage('Hi'));
  assert.equal(page.text(), 'user:Hi;assistant:Hello;ready');
  assert.equal(requests[1]?.headers.get('last-event-id'), 'c2');
  assert.equal(requests[1]?.headers.get('idempotency-key'), requests[0]?.headers.get('idempotency-key'));
  await page.unmount();
});

test('stream that goes silent is left, and continues after its cursor', async () => {
  const silent = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new TextEncoder().encode(start + event('message.delta', { messageId: 'm1', delta: 'Hel' }, 'c2'))) });
  const { requests, options } = endpoint(new Response(silent), event('message.delta', { messageId: 'm1', delta: 'lo' }, 'c3') + done);
  const page = await render(<Page options={{ ...options, stallTimeout: 20 }} />);
  await act(() => chat.sendMessage('Hi'));
  assert.equal(page.text(), 'user:Hi;assistant:Hello;ready');
  assert.equal(requests[1]?.headers.get('last-event-id'), 'c2');
  await page.unmount();
});

test('failed run, refused request and lost stream are errors, and nothing rejects', async () => {
  for (const [body, message] of [
    [event('error', { message: 'No model', code: 'model.unknown', terminal: true }), 'No model'],
    [new Response('{"error":"show a key","code":"auth.missing"}', { status: 401 }), 'show a key'],
    [start, 'the stream ended early'],
    [new Response('<html></html>'), 'unexpected response: check the URL'],
  ] as const) {
    const { options } = endpoint(body);
    const page = await render(<Page options={options} />);
    await act(() => chat.sendMessage('Hi'));
    assert.ok(page.text().endsWith(`error${message}`), page.text());
    await page.unmount();
  }
});

test('abort leaves the answer as it is, and setMessages replaces everything', async () => {
  let push!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (push = controller) });
  const { options } = endpoint(new Response(body));
  const page = await render(<Page options={options} />);
  let sending!: Promise<void>;
  await act(async () => void (sending = chat.sendMessage('Hi')));
  push.enqueue(new TextEncoder().encode(start + event('message.delta', { messageId: 'm1', delta: 'Hel' })));
  await until(() => page.text() === 'user:Hi;assistant:Hel;streaming');
  await act(async () => chat.abort());
  await sending;
  assert.equal(page.text(), 'user:Hi;assistant:Hel;ready');
  await act(async () => chat.setMessages((messages) => messages.slice(0, 1)));
  assert.equal(page.text(), 'user:Hi;ready');
  await page.unmount();
});
