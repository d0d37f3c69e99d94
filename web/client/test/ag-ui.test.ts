import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeadwaterError } from '@headwater/client';
import { AgUiReducer, readRun, readStream, type AgUiEvent, type AgUiMessage } from '@headwater/client/ag-ui';
import { collect, fromBase64, judgeRows, plain, readCases, streamOf, type Row } from './vectors.js';

/** The client validates what it reads and gives up; a reader reads on, so that what each of them has cannot be compared. */
const gaveUp = (row: Row) => /^(schema|verify|chunk|frame|json)$/.test(row['errorKind'] ?? '');

/** Minted ids are random there and counted here. */
function normal(messages: readonly Row[], expected: readonly Row[]): Row[] {
  const isMinted = JSON.stringify(expected).includes('<uuid-');
  return plain(messages).map((message) => {
    const { id, role, content, toolCalls, toolCallId, activityType, name } = message;
    const calls = toolCalls?.map((call: Row) => ({ id: call['id'], name: call['function'].name, arguments: call['function'].arguments }));
    const text = Array.isArray(content) ? content.map((part: Row) => part['text'] ?? '').join('') : content;
    return plain({ id: isMinted ? null : id, role, content: text === '' ? undefined : text, calls, toolCallId, activityType, name });
  });
}

test('events build the messages that the client builds', () =>
  judgeRows('agui/run.jsonl', (row) => row['name'], (row) => {
    let { messages, state } = row['input'] as { messages: AgUiMessage[]; state: unknown };
    for (const run of (row['runs'] ?? [row]) as Row[]) {
      messages = [...messages, ...((run['addMessages'] ?? []) as AgUiMessage[])];
      if (run['request'] === null) continue;
      const reducer = new AgUiReducer({ messages, state });
      for (const event of run['events'] as AgUiEvent[]) reducer.apply(event);
      const after = reducer.snapshot();
      messages = [...after.messages];
      state = after.state;
      if (gaveUp(run)) return;
      assert.deepEqual(normal(messages as Row[], run['messages']), normal(run['messages'], run['messages']));
      assert.deepEqual(plain(state), run['state']);
    }
  }));

/** Ends the run, or is about messages as a whole: what is read after it is not the same. */
const isDrastic = (event: Row) => /^(RUN_|MESSAGES_SNAPSHOT)/.test(String(event?.['type']));

test('single events that the client accepts are read, and one that it refuses breaks nothing', () =>
  judgeRows('agui/schema.jsonl', (row) => row['name'], (row) => {
    const reducer = new AgUiReducer();
    if (row['accepted']) return reducer.apply(row['event']);
    // The client gives the run up. A reader gets as much of it as it can.
    reducer.apply({ type: 'RUN_STARTED', threadId: 't', runId: 'r' });
    reducer.apply(row['event']);
    reducer.apply({ type: 'TEXT_MESSAGE_START', messageId: 'after', role: 'assistant' });
    reducer.apply({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'after', delta: 'Hello' });
    if (!isDrastic(row['event'])) assert.equal(reducer.snapshot().messages.find(({ id }) => id === 'after')?.content, 'Hello');
  }));

test('bytes are cut into events as by the client', () =>
  judgeRows('agui/sse.jsonl', (row) => row['name'], async (row) => {
    const source = streamOf(...fromBase64(row['pieces']));
    if (row['run'].error === null) {
      assert.deepEqual(plain(await collect(readStream(source, { framing: 'sse' }))), row['events']);
      return;
    }
    // What the client dies of may be read, or be an error; what it read before is read.
    const types: string[] = [];
    const error = await (async () => {
      for await (const event of readStream(source, { framing: 'sse' })) types.push(event?.type);
    })().catch((thrown: unknown) => thrown);
    assert.deepEqual(types.slice(0, row['run'].delivered.length), row['run'].delivered);
    if (error) assert.equal((error as HeadwaterError).code, 'stream.json');
  }));

test('our own streams become what the vendor shows', async () => {
  for (const { name, body, expected } of readCases('ag-ui')) {
    const { messages, error } = (await collect(readRun(streamOf(body)))).at(-1) ?? { messages: [] };
    const texts = (role: string) => messages.filter((message) => message.role === role && message.content).map(({ content }) => content);
    assert.deepEqual(texts('assistant'), expected['text'], name);
    assert.deepEqual(texts('reasoning'), expected['reasoning'], name);
    const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls);
    assert.deepEqual(calls.map((call) => [call.id, call.function.name]), expected['tools'].map((tool: Row) => [tool['toolCallId'], tool['toolName']]), name);
    const activities = messages.filter(({ role }) => role === 'activity').map(({ id, activityType, content }) => ({ name: activityType, id, data: content }));
    assert.deepEqual(activities, expected['data'], name);
    if (expected['error']) assert.ok([error?.message, error?.code].includes(expected['error']), name);
    else assert.equal(error, undefined, name);
  }
});

test('settled messages keep their identity, and interrupts are listed', () => {
  const reducer = new AgUiReducer();
  for (const event of [
    { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
    { type: 'TEXT_MESSAGE_START', messageId: 'a', role: 'assistant' },
    { type: 'TEXT_MESSAGE_END', messageId: 'a' },
    { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f' },
  ]) reducer.apply(event);
  const first = reducer.snapshot();
  reducer.apply({ type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{}' });
  reducer.apply({ type: 'RUN_FINISHED', threadId: 't', runId: 'r', outcome: { type: 'interrupt', interrupts: [{ id: 'i', reason: 'tool_call' }] } });
  const second = reducer.snapshot();
  assert.equal(second.messages[0], first.messages[0]);
  assert.equal(first.messages[1]?.toolCalls?.[0]?.function.arguments, '');
  assert.equal(second.messages[1]?.toolCalls?.[0]?.function.arguments, '{}');
  assert.deepEqual(second.interrupts, [{ id: 'i', reason: 'tool_call' }]);
});
