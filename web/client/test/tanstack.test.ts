import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { readMessages, readStream, UIMessageReducer, type MessagePart, type StreamChunk, type UIMessage } from '@headwater/client/tanstack';
import { collect, fromBase64, judgeRows, plain, readCases, streamOf, type Row } from './vectors.js';

mock.method(console, 'warn', () => {});

const answers = (messages: readonly Row[]) => plain(messages.filter(({ role }) => role === 'assistant').map(({ parts }) => parts));

test('chunks build the messages that the processor of the client builds', () =>
  judgeRows('tanstack/seed-processor.jsonl', (row) => row['name'], (row) => {
    let reducer = new UIMessageReducer();
    const chunks = [...(row['chunks'] as StreamChunk[])];
    let thrown: number | undefined;
    for (const [at, op] of (row['ops'] as Row[]).entries()) {
      try {
        if (op['op'] === 'user') {
          const user: UIMessage = { id: `user-${at}`, role: 'user', parts: [{ type: 'text', content: op['text'] }] };
          const before = reducer.snapshot();
          reducer = new UIMessageReducer([...before, user]);
        } else if (op['op'] === 'start') reducer.start();
        else if (op['op'] === 'chunk') reducer.apply(chunks.shift() as StreamChunk);
        else if (op['op'] === 'finalize') reducer.end();
        else if (op['op'] === 'approval') reducer.addToolApprovalResponse(op['id'], op['approved']);
        else reducer.addToolResult(op['id'], op['output'], op['error']);
      } catch {
        thrown = at;
        break;
      }
    }
    assert.equal(thrown, row['thrown']?.at);
    assert.deepEqual(answers(reducer.snapshot() as unknown as Row[]), answers(row['messages']));
  }));

test('the same chunks are read off the wire', () =>
  judgeRows('tanstack/wire-decode.jsonl', (row) => row['name'], async (row) => {
    const framing = row['kind'] === 'sse' ? 'sse' : 'ndjson';
    assert.deepEqual(plain(await collect(readStream(streamOf(...fromBase64(row['segments_b64'])), { framing }))), row['seed_0_2_2'].chunks);
  }));

/** What of an answer is compared across a conversation: outputs are sent as text, and decisions are not sent back. */
function flat(messages: readonly Row[]): Row[] {
  const all: Row[] = [];
  for (const { parts } of messages.filter(({ role }) => role === 'assistant')) {
    const answer: Row = { text: [], thinking: [], tools: [] as Row[] };
    for (const part of parts as (MessagePart & Row)[]) {
      if (part.type === 'text' || part.type === 'thinking') answer[part.type].push(part.content);
      else if (part.type === 'tool-call') answer['tools'].push({ id: part.id, name: part.name, arguments: part.arguments });
      else {
        const known = [...all, answer].flatMap((held) => held['tools'] as Row[]).find(({ id }) => id === part.toolCallId);
        if (known) known['hasResult'] = true;
        else answer['tools'].push({ id: part.toolCallId, hasResult: true });
      }
    }
    if (JSON.stringify(answer) !== '{"text":[],"thinking":[],"tools":[]}') all.push(answer);
  }
  return all;
}

test('whole conversations are read as the client shows them', () =>
  judgeRows('tanstack/seed-http.jsonl', (row) => row['name'], async (row) => {
    const requests = row['requests'] as Row[];
    let messages: readonly UIMessage[] = [];
    let length = 0;
    let failed: unknown;
    for (const { body, response } of requests) {
      const sent = (Array.isArray(body?.messages) ? body.messages : []) as Row[];
      // The page took its last answer away and asks again.
      if (sent.length <= length) messages = [];
      length = sent.length;
      const reducer = new UIMessageReducer(messages);
      for (const { role, toolCallId, content } of sent) if (role === 'tool') reducer.addToolResult(toolCallId, content);
      messages = reducer.snapshot();
      try {
        for await (const next of readMessages(streamOf(response.text), { messages })) messages = next;
      } catch (error) {
        failed = error;
      }
    }
    const first = requests[0]?.['body']?.messages;
    const already = ((Array.isArray(first) ? first : []) as Row[]).filter(({ role }) => role === 'assistant').length;
    assert.deepEqual(flat(messages as unknown as Row[]), flat(row['messages']).slice(already), String(failed ?? ''));
  }));

test('our own streams become what the vendor shows', async () => {
  for (const { name, body, expected } of readCases('tanstack')) {
    const messages = (await collect(readMessages(streamOf(body)))).at(-1) ?? [];
    const parts = messages.flatMap((message) => message.parts);
    const contents = (type: string) => parts.filter((part) => part.type === type).map((part) => (part as Row)['content']);
    assert.deepEqual(contents('text'), expected['text'], name);
    assert.deepEqual(contents('thinking'), expected['reasoning'], name);
    const calls = parts.filter((part) => part.type === 'tool-call');
    assert.deepEqual(calls.map((part) => [part.id, part.name]), expected['tools'].map((tool: Row) => [tool['toolCallId'], tool['toolName']]), name);
  }
});

test('settled messages keep their identity', () => {
  const reducer = new UIMessageReducer([{ id: 'u', role: 'user', parts: [] }]);
  reducer.start('a');
  reducer.apply({ type: 'content', delta: 'x', content: 'x' });
  const first = reducer.snapshot();
  reducer.apply({ type: 'content', delta: 'y', content: 'xy' });
  const second = reducer.snapshot();
  assert.equal(second[0], first[0]);
  assert.deepEqual([first[1]?.parts, second[1]?.parts], [[{ type: 'text', content: 'x' }], [{ type: 'text', content: 'xy' }]]);
});
