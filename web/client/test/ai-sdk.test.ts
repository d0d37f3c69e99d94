import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMessages, readStream, UIMessageReducer, type UIMessage, type UIMessageChunk } from '@headwater/client/ai-sdk';
import { collect, fromBase64, judgeRows, plain, readCases, streamOf, type Row } from './vectors.js';

/** The recording is of the last snapshot: a trailing step, and a message without anything, are not in it. */
function compared(message: UIMessage | null | undefined, row: Row): unknown {
  const parts = [...(message?.parts ?? [])];
  while (parts.at(-1)?.type === 'step-start') parts.pop();
  const shown = parts.map((part) => (endsInScalar(row, part['toolCallId']) ? { ...part, input: undefined } : part));
  return plain({ metadata: spreadsMetadata(row) ? undefined : message?.metadata, parts: shown });
}

/** The client completes a number or a literal by a guess; we show the text before it. */
function endsInScalar(row: Row, call: unknown): boolean {
  const text = (row['chunks'] as Row[]).filter((chunk) => chunk?.['toolCallId'] === call).map((chunk) => chunk['inputTextDelta'] ?? '').join('');
  const open = text.replaceAll('\\\\', '').replaceAll('\\"', '').split('"').length % 2 === 0;
  return !open && /[\w+\-.]\s*$/.test(text);
}

/** Metadata that is no object is spread into one by the client, key by key. */
const spreadsMetadata = (row: Row) =>
  (row['chunks'] as Row[]).some((chunk) => chunk?.['messageMetadata'] != null && (typeof chunk['messageMetadata'] !== 'object' || Array.isArray(chunk['messageMetadata'])));

function reduce(row: Row): UIMessage {
  const reducer = new UIMessageReducer({ message: row['message'] });
  for (const chunk of row['chunks'] as UIMessageChunk[]) {
    try {
      reducer.apply(chunk);
    } catch {
      break;
    }
  }
  return reducer.snapshot();
}

test('chunks build the message that the client of the AI SDK builds', async () => {
  for (const version of ['v7', 'v6', 'v5']) {
    for (const kind of ['', '.lone-surrogate']) {
      await judgeRows(`aisdk/ui-stream.${version}${kind}.jsonl`, (row) => row['id'], (row) =>
        assert.deepEqual(compared(reduce(row), row), compared(row['wire'].final, row)));
    }
  }
});

test('bytes are cut into the chunks that the client reads', async () => {
  for (const file of ['aisdk/sse-framing.jsonl', 'aisdk/sse-framing.lone-surrogate.jsonl']) {
    await judgeRows(file, (row) => row['id'], async (row) => {
      const chunks: unknown[] = [];
      let error: unknown = null;
      try {
        const reducer = new UIMessageReducer();
        for await (const chunk of readStream(streamOf(...fromBase64(row['segmentsBase64'])), { framing: 'sse' })) {
          try {
            reducer.apply(chunk);
          } catch (thrown) {
            // A delta whose start the row leaves out is refused by the reducer, not by the framing.
            if (!/for missing/.test(String(thrown))) throw thrown;
          }
          chunks.push(chunk);
        }
      } catch (thrown) {
        error = thrown;
      }
      assert.equal(error !== null, row['error'] !== null, String(error));
      assert.deepEqual(plain(chunks), row['chunks']);
    });
  }
});

test('our own streams become what the vendor shows', async () => {
  for (const { name, body, expected } of readCases('ai-sdk')) {
    const messages = await collect(readMessages(streamOf(body)));
    const parts = messages.at(-1)?.parts ?? [];
    const texts = (type: string) => parts.filter((part) => part.type === type && part['text'] !== '').map((part) => part['text']);
    assert.deepEqual(texts('text'), expected['text'], name);
    assert.deepEqual(texts('reasoning'), expected['reasoning'], name);
    const tools = parts.filter((part) => part.type.startsWith('tool-') || part.type === 'dynamic-tool').map((part) => {
      const { toolCallId, state, input, output, errorText } = part;
      const toolName = part['toolName'] ?? part.type.slice('tool-'.length);
      return plain({ toolCallId, toolName, state, ...(state === 'input-streaming' ? {} : { input: input ?? null }), output, errorText });
    });
    assert.deepEqual(tools, expected['tools'], name);
    const sources = parts.filter((part) => part.type.startsWith('source-')).map(({ sourceId, url, title }) => plain({ sourceId, url, title }));
    assert.deepEqual(sources, expected['sources'], name);
    const data = parts.filter((part) => part.type.startsWith('data-')).map((part) => plain({ name: part.type.slice(5), id: part['id'], data: part['data'] }));
    const any = (item: Row, index: number) => (expected['data'][index]?.data === '<any>' ? { ...item, data: '<any>' } : item);
    assert.deepEqual(data.map(any), expected['data'], name);
  }
});

test('snapshots share what did not change', () => {
  const reducer = new UIMessageReducer();
  for (const chunk of [{ type: 'start', messageId: 'm' }, { type: 'text-start', id: 'a' }, { type: 'text-end', id: 'a' }, { type: 'text-start', id: 'b' }]) reducer.apply(chunk);
  const first = reducer.snapshot();
  reducer.apply({ type: 'text-delta', id: 'b', delta: 'x' });
  const second = reducer.snapshot();
  assert.equal(first.parts[1]?.['text'], '');
  assert.equal(second.parts[0], first.parts[0]);
  assert.notEqual(second.parts[1], first.parts[1]);
});
