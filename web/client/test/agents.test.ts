import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { applyEvent, createStream, fromSSE, readStream, type UIMessage } from '@headwater/client/agents';
import { collect, repository, streamOf } from './vectors.js';

const apply = (events: [string, unknown][], messages: UIMessage[] = []) =>
  events.reduce((held, [type, data]) => applyEvent(held, { type, data }), messages);

test('example of the contract becomes a message', async () => {
  let messages: UIMessage[] = [];
  const events = [];
  for await (const event of readStream(streamOf(readFileSync(new URL('examples/streams/agents.sse', repository))))) {
    events.push(event.type);
    messages = applyEvent(messages, event);
  }
  assert.equal(events[0], 'meta');
  assert.equal(events.at(-1), 'done');
  const [message] = messages;
  assert.equal(message?.role, 'assistant');
  const types = message?.parts.map(({ type }) => type) ?? [];
  assert.ok(types.includes('text') && types.includes('source-url') && types.some((type) => type.startsWith('tool-')), String(types));
  assert.ok(message?.parts.every((part) => !part.type.startsWith('tool-') || part['state'] === 'output-available'));
});

test('text goes to the last text part, or to the part that is named', () => {
  const [message] = apply([
    ['message.start', { messageId: 'm', role: 'assistant' }],
    ['message.delta', { messageId: 'm', delta: 'a' }],
    ['message.delta', { messageId: 'm', delta: 'b' }],
    ['tool.call', { messageId: 'm', toolCallId: 't', toolName: 'x', input: {}, state: 'input-available' }],
    ['message.delta', { messageId: 'm', delta: 'c' }],
    ['message.delta', { messageId: 'm', delta: 'd', partId: 'p' }],
    ['message.delta', { messageId: 'm', delta: 'e', partId: 'q' }],
    ['message.delta', { messageId: 'm', delta: 'f', partId: 'p' }],
    ['reasoning.delta', { messageId: 'm', delta: 'g', partId: 'p' }],
  ]);
  assert.deepEqual(message?.parts.map((part) => part['text'] ?? part.type), ['ab', 'tool-x', 'c', 'df', 'e', 'g']);
});

test('tool part goes through its states', () => {
  const events: [string, unknown][] = [
    ['tool.delta', { toolCallId: 't', delta: '{"a":', state: 'input-streaming', messageId: 'm' }],
    ['tool.delta', { toolCallId: 't', delta: '"b', state: 'input-streaming', messageId: 'm' }],
    ['tool.call', { toolCallId: 't', toolName: 'find', input: { a: 'bc' }, state: 'input-available', messageId: 'm' }],
    ['tool.call', { toolCallId: 't', toolName: 'find', state: 'approval-requested', approval: { id: 'p' }, messageId: 'm' }],
    ['tool.result', { toolCallId: 't', errorText: 'no', state: 'output-error' }],
  ];
  const states = events.map((_, index) => apply(events.slice(0, index + 1))[0]?.parts[0]);
  assert.deepEqual(states[1], { type: 'tool-', toolCallId: 't', state: 'input-streaming', input: { a: 'b' } });
  assert.deepEqual(states[4], { type: 'tool-find', toolCallId: 't', state: 'output-error', input: { a: 'bc' }, approval: { id: 'p' }, errorText: 'no' });
});

test('tool event before any message makes the message', () => {
  const user: UIMessage = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
  const messages = apply([['tool.call', { toolCallId: 't', toolName: 'x', state: 'input-available' }]], [user]);
  assert.deepEqual(messages.map(({ role }) => role), ['user', 'assistant']);
  assert.equal(messages[0], user);
});

test('data is set by its id, and other messages keep their identity', () => {
  const before = apply([['message.start', { messageId: 'a' }], ['data', { messageId: 'b', name: 'table', dataId: 's', data: 1 }]]);
  const after = apply([['data', { messageId: 'b', name: 'table', dataId: 's', data: 2 }], ['data', { messageId: 'b', name: 'tick', data: 3, transient: true }]], before);
  assert.equal(after[0], before[0]);
  assert.deepEqual(after[1]?.parts, [{ type: 'data-table', id: 's', data: 2 }]);
});

test('events that change nothing give the list back', () => {
  const messages = apply([['message.delta', { messageId: 'm', delta: 'x' }]]);
  for (const type of ['meta', 'status', 'done', 'error', 'message.end', 'tomorrow']) assert.equal(applyEvent(messages, { type, data: {} }), messages);
});

test('fromSSE asks a URL, and refuses what is no stream', async () => {
  const fetch = (url: unknown) => Promise.resolve(String(url) === '/ok' ? new Response('event: done\ndata: {"runId":"r"}\n\n') : new Response('no', { status: 404 }));
  const { signal } = new AbortController();
  assert.deepEqual(await collect(fromSSE('/ok', { signal, fetch: fetch as typeof globalThis.fetch })), [{ type: 'done', data: { runId: 'r' } }]);
  await assert.rejects(collect(fromSSE('/no', { fetch: fetch as typeof globalThis.fetch })), { code: 'http.404' });
});

test('createStream gives the chunks in order', async () => {
  const reader = createStream([1, 2, 3], 1).getReader();
  const read = [];
  for (let step = await reader.read(); !step.done; step = await reader.read()) read.push(step.value);
  assert.deepEqual(read, [1, 2, 3]);
});
