// The adapter against a real server. `conformance` has it under MUI's own client and in a browser.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createHeadwaterAdapter } from '@headwater/mui';
import { binary, RealServer } from '../../client/test/real-server.js';

if (!binary) assert.notEqual(process.env['CI'], 'true', 'HEADWATER_BINARY is not set');

const server = new RealServer();
const { signal } = new AbortController();
const message = (text: string) => ({ id: crypto.randomUUID(), role: 'user' as const, parts: [{ type: 'text' as const, text }] });

async function read(stream: ReadableStream | null, onChunk: (chunk: any) => unknown = () => {}): Promise<any[]> {
  const chunks: unknown[] = [];
  const reader = (stream as ReadableStream).getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    chunks.push(step.value);
    await onChunk(step.value);
  }
  return chunks;
}

const textOf = (chunks: any[]) => chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');
const textIn = (parts: readonly { type: string }[] = []) => parts.map((part) => (part.type === 'text' ? (part as unknown as { text: string }).text : '')).join('');
const fresh = () => ({ conversationId: crypto.randomUUID(), adapter: createHeadwaterAdapter({ url: `${server.url}/v1/mui/tools/chat`, retries: 30 }) });

describe('adapter with a real server', { skip: !binary, timeout: 120_000 }, () => {
  before(() => server.start());
  after(() => server.stop());

  test('approval continues the stream that is open', async () => {
    const { adapter, conversationId } = fresh();
    const sent = message('delete notes.txt');
    const stream = await adapter.sendMessage({ conversationId, message: sent, messages: [sent], signal });
    const chunks = await read(stream, ({ type, approvalId }) => type === 'tool-approval-request' && adapter.addToolApprovalResponse({ id: approvalId, approved: true }));
    assert.match(textOf(chunks), /I deleted notes.txt/);
    const { messages } = await adapter.listMessages({ conversationId });
    assert.deepEqual(messages.map(({ role }) => role), ['user', 'assistant']);
    const { conversations } = await adapter.listConversations();
    assert.ok(conversations.some(({ id }) => id === conversationId));
  });

  test('server that is killed in the middle of an answer is reconnected to', async () => {
    const { conversationId } = fresh();
    const adapter = createHeadwaterAdapter({ url: `${server.url}/v1/mui/chat/chat`, retries: 30 });
    const sent = message('long');
    const stream = await adapter.sendMessage({ conversationId, message: sent, messages: [sent], signal });
    let deltas = 0;
    const chunks = await read(stream, async ({ type }) => {
      if (type !== 'text-delta' || (deltas += 1) !== 30) return;
      await server.kill();
      await server.start();
    });
    assert.equal(chunks.at(-1).type, 'finish');
    const { messages } = await adapter.listMessages({ conversationId });
    const kept = textIn(messages.at(-1)?.parts);
    // What the page shows after the last time that its message was emptied.
    const begun = chunks.findLastIndex((chunk) => chunk.type === 'message-updated');
    assert.equal(textIn(chunks[begun]?.message.parts) + textOf(chunks.slice(begun + 1)), kept);
    assert.equal(kept.trim().split(/\s+/).length, 400);
  });

  test('stream that was given up is read again from its beginning, also after its run has ended', async () => {
    const { adapter, conversationId } = fresh();
    const sent = message('weather in Paris');
    const first = await read(await adapter.sendMessage({ conversationId, message: sent, messages: [sent], signal }));
    const [{ messageId }] = first;
    const again = await adapter.reconnectToStream({ conversationId, messageId, signal });
    const chunks = await read(again);
    assert.equal(textOf(chunks), textOf(first));
    assert.equal(chunks.at(-1).type, 'finish');
  });

  test('regenerate replaces the answer, and stop ends a run', async () => {
    const { adapter, conversationId } = fresh();
    const sent = message('weather in Rome');
    const [{ messageId }] = await read(await adapter.sendMessage({ conversationId, message: sent, messages: [sent], signal }));
    await read(await adapter.regenerate({ conversationId, messageId, message: sent, messages: [sent], signal }));
    assert.deepEqual((await adapter.listMessages({ conversationId })).messages.map(({ role }) => role), ['user', 'assistant']);

    const slow = createHeadwaterAdapter({ url: `${server.url}/v1/mui/chat/chat` });
    const long = message('long');
    let isStopped = false;
    const chunks = await read(await slow.sendMessage({ conversationId: crypto.randomUUID(), message: long, messages: [long], signal }), ({ type }) => {
      if (type === 'text-delta' && !isStopped) slow.stop();
      isStopped ||= type === 'text-delta';
    });
    assert.equal(chunks.at(-1).type, 'abort');
  });
});
