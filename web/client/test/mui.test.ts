import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChatMessageReducer, EnvelopeReader, readMessages, type ChatMessage, type ChatMessagePart } from '@headwater/client/mui';
import { readStream } from '@headwater/client';
import { collect, judgeRows, plain, readCases, streamOf, type Row } from './vectors.js';

/** The recorder writes what is no JSON as an object of its own. */
const wire = (item: Row) => (item && '$undefined' in item ? null : item && '$bytes' in item ? {} : item) as never;

/** What is absent there is empty here. */
function normal(message: Row, isTarget: boolean): Row {
  const { createdAt: _, conversationId: __, status, ...rest } = plain(message);
  const parts = (rest['parts'] as Row[]).map((part) => {
    const { state, ...fields } = part;
    const isText = part['type'] === 'text' || part['type'] === 'reasoning';
    const tidy = (object: Row) =>
      Object.fromEntries(Object.entries(object).filter(([key, value]) => {
        if (/^(toolName|url|mediaType|sourceId|errorText)$/.test(key)) return value !== '' && value !== null;
        if (/^(preliminary|transient)$/.test(key)) return value !== false;
        return key !== 'data' || value !== null;
      }));
    const invocation = part['toolInvocation'] ? { toolInvocation: tidy(part['toolInvocation']) } : {};
    return { ...tidy(fields), ...invocation, ...(isText && (state === 'done' || !isTarget) ? {} : state === undefined ? {} : { state }) };
  });
  return { ...rest, parts, ...(isTarget ? { status } : {}) };
}

function reduce(reducer: ChatMessageReducer, items: Row[]): number | undefined {
  for (const [index, item] of items.entries()) {
    try {
      reducer.apply(wire(item));
    } catch {
      return index;
    }
  }
  reducer.end();
  return undefined;
}

test('streams become the messages that the real client builds', () =>
  judgeRows('mui/processor.jsonl', (row) => row['name'], (row) => {
    const { messageId, reconnectFromSequence, seenEventIds } = row['options'] ?? {};
    const envelopes = new EnvelopeReader({ nextSequence: reconnectFromSequence, seenEventIds });
    const reducer = new ChatMessageReducer({ messages: row['initialMessages'], messageId, envelopes });
    const refused = reduce(reducer, row['chunks']);
    if (row['thrown'] && !(row['end'] ?? 'close').startsWith('error')) {
      // The trace has a line for each chunk that was taken.
      assert.equal(refused, row['trace']?.length ?? 0, 'the chunk that is refused');
      return;
    }
    const target = row['result']?.messageId;
    const of = (messages: readonly Row[]) => messages.map((message) => normal(message, target === undefined || target === message['id']));
    assert.deepEqual(of(reducer.snapshot() as unknown as Row[]), of(row['messages']));
    if (!row['result']) return;
    assert.equal(reducer.finishReason, row['result'].finishReason);
    const nothingCame = row['messages'].length === 0 || row['result'].status !== 'error';
    if (!nothingCame) assert.equal(reducer.isDisconnect, row['result'].isDisconnect, 'isDisconnect');
  }));

const streams = (row: Row, name: string): Row[][] | undefined =>
  Array.isArray(row['spec'][name]) && row['spec'][name].every(Array.isArray) ? row['spec'][name] : undefined;

const items = (stream: Row[]) => stream.filter((item) => !['$end', '$wait', '$sleep', '$throw'].some((key) => key in Object(item)));

async function reply(row: Row): Promise<readonly ChatMessage[]> {
  const stream = (streams(row, 'send') as Row[][])[0] as Row[];
  const bytes = stream.filter((item) => '$bytes' in Object(item)).map((item) => item['$bytes'] as string);
  const chunks = row['spec'].aiSdkAdapter === true ? ((await collect(readStream(streamOf(...bytes), { keepTail: false }))) as Row[]) : items(stream);
  const envelopes = new EnvelopeReader();
  // The page names the answer, in case the stream does not.
  const reducer = new ChatMessageReducer({ messageId: 'local-1', envelopes });
  const refused = reduce(reducer, chunks);
  const broke = stream.some((item) => String(Object(item)['$end'] ?? '').startsWith('error'));
  // The page reconnects only if the stream ended in good order, too early, and had brought something.
  const again = row['spec'].reconnect;
  if (refused !== undefined || !again || broke || !reducer.isDisconnect || chunks.length === 0) return reducer.snapshot();
  const messages = reducer.snapshot();
  const continued = new ChatMessageReducer({ messages, messageId: messages.at(-1)?.id ?? 'local-1', envelopes: new EnvelopeReader(envelopes) });
  reduce(continued, items(again[0]));
  return continued.snapshot();
}

test('replies become the messages that the real page shows', () =>
  judgeRows('mui/provider.jsonl', (row) => row['name'], async (row) => {
    const messages = await reply(row);
    const expected = (row['messages'] as Row[]).filter(({ role }) => role !== 'user');
    const minted = (message: Row) => /^(local-|ai-sdk-msg-)/.test(message['id']);
    const of = (list: readonly Row[]) => list.map((message, at) => ({ ...normal(message, true), ...(expected[at] && minted(expected[at] as Row) ? { id: null } : {}) }));
    assert.deepEqual(of(messages as unknown as Row[]), of(expected));
  }));

test('our own streams become what the vendor shows', async () => {
  for (const { name, body, expected } of readCases('mui')) {
    const messages = (await collect(readMessages(streamOf(body)))).at(-1) ?? [];
    const parts = messages.flatMap((message) => message.parts);
    const texts = (type: string) => parts.filter((part) => part.type === type && part['text'] !== '').map((part) => part['text']);
    assert.deepEqual(texts('text'), expected['text'], name);
    assert.deepEqual(texts('reasoning'), expected['reasoning'], name);
    const tools = parts.flatMap(({ toolInvocation: call }: ChatMessagePart) =>
      call ? [plain({ toolCallId: call.toolCallId, toolName: call['toolName'], state: call.state, ...(call.state === 'input-streaming' ? {} : { input: call['input'] ?? null }), output: call['output'], errorText: call['errorText'] })] : []);
    assert.deepEqual(tools, expected['tools'], name);
    const data = parts.filter((part) => part.type.startsWith('data-')).map((part) => plain({ name: part.type.slice(5), id: part['id'], data: part['data'] }));
    assert.deepEqual(data, expected['data'], name);
  }
});

test('envelopes that come early wait, and those that come twice are dropped', () => {
  const reader = new EnvelopeReader();
  const read = (sequence: number, eventId = `e${sequence}`) => [...reader.read({ eventId, sequence, chunk: { type: `c${sequence}` } })].map(({ type }) => type);
  assert.deepEqual([read(0), read(2), read(2), read(1), read(1, 'other'), read(3)], [['c0'], [], [], ['c1', 'c2'], [], ['c3']]);
  assert.equal(reader.nextSequence, 4);
});
