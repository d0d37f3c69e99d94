// The examples of the documentation and of the protocols that our clients follow, with their imports renamed.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { applyEvent } from '@headwater/client';
import { createStream, type UIMessage } from '@headwater/client/agents';
import { reduceStructuredChunks, type StructuredDataChunk } from '@headwater/client/kortyx';
import { ChatMessageReducer, fromSSE, type ChatMessageChunk, type ChatStreamEnvelope } from '@headwater/client/mui';
import { UIMessageReducer, type StreamChunk } from '@headwater/client/tanstack';
import { readAnswer } from './examples/agents.js';
import type { UIMessage as AiMessage } from 'ai';
import { allowEverything } from './examples/answer.js';
import { chatOnAPage } from './examples/chat.js';
import { answerOf } from './examples/dialects.js';
import { collectChunks, keepObjects, textAndObjects } from './examples/kortyx.js';
import { byStreamId, collect, messagesOf, objectOf, onStructuredChunk, reducer, routeText, story } from './examples/seeds.js';
import { chatInEveryTab, previousVariant } from './examples/tabs.js';
import { ask, messagesOfThread } from './examples/transports.js';
import { until } from './fake-server.js';
import { binary, RealServer } from './real-server.js';
import { repository } from './vectors.js';

const recorded = (name: string) => new Response(readFileSync(new URL(`examples/streams/${name}`, repository)));

test('every example of the documentation is in a file that tests run', () => {
  const sources = ['client', 'mui', 'react'].flatMap((name) => {
    const folder = new URL(`web/${name}/test/examples/`, repository);
    return readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'));
  });
  for (const page of ['docs/web.md', 'web/client/README.md', 'web/mui/README.md', 'web/react/README.md']) {
    const blocks = [...readFileSync(new URL(page, repository), 'utf8').matchAll(/```tsx?\n(.*?)```/gs)].map((match) => match[1] as string);
    assert.ok(blocks.length > 0, page);
    for (const block of blocks) assert.ok(sources.some((source) => source.includes(block)), `${page} has an example of its own:\n${block}`);
  }
});

test('loop over the chunks of Kortyx', async () => {
  const chunks = await collectChunks(recorded('kortyx.sse'));
  assert.equal(chunks[0]?.type, 'session');
  assert.equal(chunks.at(-1)?.type, 'done');
});

test('examples of the protocols, all from one entry point', async () => {
  assert.equal((await collect(recorded('kortyx.sse'))).at(-1)?.type, 'done');
  const chunk = { type: 'structured-data', streamId: 's', dataType: 'email', kind: 'set', path: 'subject', value: 'Beta' } as StructuredDataChunk;
  onStructuredChunk(chunk);
  assert.deepEqual([byStreamId['s']?.data, objectOf([chunk])?.data], [{ subject: 'Beta' }, { subject: 'Beta' }]);
  const [message] = reducer([], { type: 'message.delta', data: { messageId: 'm', delta: 'Hi' } });
  assert.deepEqual(message?.parts, [{ type: 'text', text: 'Hi' }]);
  // Messages of the AI SDK stay what they are.
  const theirs: AiMessage[] = applyEvent<AiMessage>([], { type: 'message.start', data: { messageId: 'm' } });
  assert.equal(theirs.length, 1);
  const original = globalThis.fetch;
  globalThis.fetch = async (url) => recorded(String(url));
  try {
    assert.equal((await messagesOf('agents.sse', new AbortController().signal))[0]?.role, 'assistant');
    assert.ok((await routeText('kortyx.sse')).length > 0);
  } finally {
    globalThis.fetch = original;
  }
  assert.deepEqual((await story.getReader().read()).value, { type: 'start' });
});

test('objects by their stream', () => {
  const { byStreamId, onStructuredChunk } = keepObjects();
  const chunk = (fields: object) => ({ type: 'structured-data', node: 'planner', streamId: 'run_123', dataType: 'email.compose', ...fields }) as StructuredDataChunk;
  onStructuredChunk(chunk({ kind: 'text-delta', path: 'body', delta: 'Hi team,', schemaId: 'email-compose', schemaVersion: '1', id: 'compose-email' }));
  assert.deepEqual([byStreamId['run_123']?.status, byStreamId['run_123']?.data], ['streaming', { body: 'Hi team,' }]);
  const data = { subject: 'Beta access is open', body: 'Hi team,\n\nBeta access is open.', bullets: ['Faster setup', 'Live streaming UI'] };
  onStructuredChunk(chunk({ kind: 'final', data }));
  assert.deepEqual([byStreamId['run_123']?.status, byStreamId['run_123']?.data], ['done', data]);
});

test('text and objects of one stream', async () => {
  const { text, structured } = await textAndObjects(recorded('kortyx.sse'));
  assert.ok(text.length > 0 || Object.keys(structured).length > 0);
});

test('example stream of the agents contract', async () => {
  const original = globalThis.fetch;
  globalThis.fetch = async () => recorded('agents.sse');
  const messages = await readAnswer('/api/chat', new AbortController().signal).finally(() => (globalThis.fetch = original));
  assert.equal(messages[0]?.role, 'assistant');
  assert.ok(messages[0]?.parts.some((part) => part.type === 'tool-webSearchBusiness' && part['state'] === 'output-available'));
  assert.ok(messages[0]?.parts.some((part: UIMessage['parts'][number]) => part.type === 'source-url'));
});

test('message of the AI SDK', async () => {
  const message = await answerOf(recorded('ai-sdk.sse'));
  assert.equal(message?.role, 'assistant');
  assert.ok(message.parts.length > 0);
});

test('chunks and envelopes of MUI in one stream', async () => {
  const chunks: (ChatMessageChunk | ChatStreamEnvelope)[] = [
    { type: 'start', messageId: 'm1' },
    { eventId: 'e0', sequence: 0, chunk: { type: 'text-start', id: 't' } },
    { eventId: 'e2', sequence: 2, chunk: { type: 'text-end', id: 't' } },
    { eventId: 'e1', sequence: 1, chunk: { type: 'text-delta', id: 't', delta: 'Hello' } },
    { eventId: 'e1', sequence: 1, chunk: { type: 'text-delta', id: 't', delta: 'Hello' } },
    { type: 'finish', messageId: 'm1', finishReason: 'stop' },
  ];
  const reducer = new ChatMessageReducer();
  const reader = createStream(chunks, 1).getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) reducer.apply(step.value);
  assert.deepEqual(reducer.snapshot(), [{ id: 'm1', role: 'assistant', status: 'sent', parts: [{ type: 'text', text: 'Hello', state: 'done' }] }]);
});

test('chunks of MUI from a URL, and the status of their message', async () => {
  const original = globalThis.fetch;
  const frames = [{ type: 'start', messageId: 'm1' }, { type: 'reasoning-start', id: 'r' }, { type: 'text-delta', id: 't', delta: 'Hello' }];
  const read = async (...more: object[]) => {
    globalThis.fetch = async () => new Response([...frames, ...more].map((chunk) => `: alive\n\ndata:${JSON.stringify(chunk)}\n\n`).join(''));
    const reducer = new ChatMessageReducer();
    const statuses: unknown[] = [];
    const reader = (await fromSSE('/api/chat', new AbortController().signal).finally(() => (globalThis.fetch = original))).getReader();
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      reducer.apply(step.value);
      statuses.push(reducer.snapshot()[0]?.status);
    }
    reducer.end();
    return [...new Set([...statuses, reducer.snapshot()[0]?.status])];
  };
  assert.deepEqual(await read({ type: 'finish', messageId: 'm1' }), ['streaming', 'sent']);
  assert.deepEqual(await read({ type: 'abort', messageId: 'm1' }), ['streaming', 'cancelled']);
  assert.deepEqual(await read(), ['streaming', 'error'], 'a stream that ends too early');
  globalThis.fetch = async () => new Response('', { status: 401 });
  await assert.rejects(fromSSE('/api/chat', new AbortController().signal), { code: 'http.401' });
  globalThis.fetch = original;
});

test('chunks of one object, all at once', () => {
  const chunk = (fields: object) => ({ type: 'structured-data', node: 'compose', streamId: 's', dataType: 'email.compose', ...fields }) as StructuredDataChunk;
  const state = reduceStructuredChunks<{ subject: string; body: string; bullets: string[] }>([
    chunk({ kind: 'set', path: 'subject', value: 'Beta' }),
    chunk({ kind: 'text-delta', path: 'body', delta: 'Hi ' }),
    chunk({ kind: 'append', path: 'bullets', items: ['Faster setup'] }),
    chunk({ kind: 'text-delta', path: 'body', delta: 'team,' }),
  ]);
  assert.deepEqual([state?.status, state?.data], ['streaming', { subject: 'Beta', body: 'Hi team,', bullets: ['Faster setup'] }]);
  assert.equal(reduceStructuredChunks([]), undefined);
});

test('tool call flow of TanStack', () => {
  const base = { model: 'gpt-4', timestamp: 1699123456790 };
  const call = (id: string, args: string) => ({ ...base, type: 'tool_call', id, toolCall: { id: 'call_xyz789', type: 'function', function: { name: 'get_weather', arguments: args } }, index: 0 });
  const chunks: StreamChunk[] = [
    call('1', '{"location": "San'),
    call('2', ' Francisco"}'),
    { ...base, type: 'done', id: '3', finishReason: 'tool_calls' },
    { ...base, type: 'tool_result', id: '4', toolCallId: 'call_xyz789', content: '{"temperature": 72, "condition": "sunny"}' },
    { ...base, type: 'content', id: '5', delta: 'Sunny.', content: 'Sunny.', role: 'assistant' },
    { ...base, type: 'done', id: '6', finishReason: 'stop' },
  ];
  const reducer = new UIMessageReducer();
  reducer.start();
  for (const chunk of chunks) reducer.apply(chunk);
  reducer.end();
  assert.deepEqual(reducer.snapshot()[0]?.parts.map((part) => (part.type === 'tool-call' ? part.arguments : part.content)), [
    '{"location": "San Francisco"}', '{"temperature": 72, "condition": "sunny"}', 'Sunny.',
  ]);
});

describe('examples with a real server', { skip: !binary, timeout: 60_000 }, () => {
  test('page that chats, and allows the call', async () => {
    const server = await new RealServer().start();
    try {
      const kept = new Map<string, string>();
      const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) } as Storage;
      let renders = 0;
      const chat = await chatOnAPage(server.url, storage, () => (renders += 1));
      await until(() => chat.getSnapshot().waiting.length > 0);
      await allowEverything(chat);
      await until(() => chat.getSnapshot().connection === 'closed');
      assert.match(JSON.stringify(chat.getSnapshot().messages.at(-1)), /I deleted notes.txt/);
      assert.ok(renders > 0);
    } finally {
      await server.stop();
    }
  });

  test("other people's clients share a conversation", async () => {
    const server = await new RealServer().start();
    try {
      const asked = await ask(server.url, 'shared', 'hello');
      const read = await messagesOfThread(server.url, 'shared');
      assert.match(JSON.stringify(asked.at(-1)), /I am the demo agent/);
      assert.match(JSON.stringify(read.at(-1)), /I am the demo agent/);
      assert.ok(read.some(({ role, content }) => role === 'user' && content === 'hello'));
    } finally {
      await server.stop();
    }
  });

  test('answer that is selected in one tab is shown in the other', async () => {
    const server = await new RealServer().start();
    try {
      const kept = new Map<string, string>();
      const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) } as Storage;
      const [one, two] = [chatInEveryTab(server.url, storage), chatInEveryTab(server.url, storage)];
      const unsubscribe = [one, two].map((chat) => chat.subscribe(() => {}));
      const settled = () => until(() => [one, two].every((chat) => chat.getSnapshot().connection === 'closed' && chat.getSnapshot().messages.length === 2));
      await one.send('hello');
      // The other tab finds the new session when it becomes visible.
      await two.sync();
      await settled();
      const first = one.getSnapshot().run;
      await one.regenerate();
      await until(() => two.getSnapshot().run !== first);
      await settled();
      await previousVariant(one, one.getSnapshot().messages[0]?.id as string);
      await until(() => two.getSnapshot().run === first && one.getSnapshot().run === first);
      for (const stop of unsubscribe) stop();
    } finally {
      await server.stop();
    }
  });
});
