// First the judges themselves are tried, on streams written by hand: each must render the right answer and must
// notice a broken one. Then they judge the streams of ../cases/<dialect>/, which our encoders wrote.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { flatten } from './flatten.mjs';
import { judge, vendors, vendorsOf } from './judge.mjs';

const sse = (...chunks) => chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
const done = 'data: [DONE]\n\n';

const aiChunks = [
  { type: 'start', messageId: 'm1' },
  { type: 'start-step' },
  { type: 'text-start', id: 't1' },
  { type: 'text-delta', id: 't1', delta: 'Let me ' },
  { type: 'text-delta', id: 't1', delta: 'see – 🙂.' },
  { type: 'text-end', id: 't1' },
  { type: 'tool-input-start', toolCallId: 'c1', toolName: 'weather' },
  { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"city":' },
  { type: 'tool-input-available', toolCallId: 'c1', toolName: 'weather', input: { city: 'Oslo' } },
  { type: 'tool-output-available', toolCallId: 'c1', output: { celsius: 4 } },
  { type: 'finish-step' },
  { type: 'finish', finishReason: 'stop' },
];
const muiChunks = aiChunks
  .map((chunk) => (chunk.type === 'finish' ? { ...chunk, messageId: 'm1' } : chunk))
  .map((chunk, sequence) => ({ eventId: `m1:${sequence}`, sequence, chunk }));
const tanstackChunk = (type, rest) => ({ type, id: 'r1', model: 'm', timestamp: 1, ...rest });
const run = { threadId: 'thread', runId: 'run' };

const written = {
  'ai-sdk': {
    whole: sse(...aiChunks) + done,
    broken: sse(...aiChunks.slice(0, 2), { type: 'text-delta', id: 'never-started', delta: 'x' }) + done,
    failed: sse(...aiChunks.slice(0, 6), { type: 'error', errorText: 'the model is gone' }) + done,
  },
  tanstack: {
    whole:
      sse(
        tanstackChunk('content', { delta: 'Let me ', content: 'Let me ', role: 'assistant' }),
        tanstackChunk('content', { delta: 'see – 🙂.', content: 'Let me see – 🙂.', role: 'assistant' }),
        tanstackChunk('tool_call', {
          index: 0,
          toolCall: { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        }),
        tanstackChunk('done', { finishReason: 'tool_calls' }),
        tanstackChunk('tool_result', { toolCallId: 'c1', content: '{"celsius":4}' }),
        tanstackChunk('done', { finishReason: 'stop' }),
      ) + done,
    broken: sse(null) + done,
    failed: sse(tanstackChunk('error', { error: { message: 'the model is gone' } })),
  },
  mui: {
    whole: sse(...muiChunks),
    broken: sse(...muiChunks.slice(0, 3), { sequence: 3, chunk: null }),
    failed: sse(...muiChunks.slice(0, 5)),
  },
  'ag-ui': {
    whole: sse(
      { type: 'RUN_STARTED', ...run },
      { type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'Let me ' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'see – 🙂.' },
      { type: 'TEXT_MESSAGE_END', messageId: 'm1' },
      { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'weather', parentMessageId: 'm1' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"city":"Oslo"}' },
      { type: 'TOOL_CALL_END', toolCallId: 'c1' },
      { type: 'TOOL_CALL_RESULT', messageId: 'r1', toolCallId: 'c1', content: '{"celsius":4}' },
      { type: 'RUN_FINISHED', ...run },
    ),
    broken: sse({ type: 'RUN_STARTED', ...run }, { type: 'TEXT_MESSAGE_END', messageId: 'm1' }),
    failed: sse({ type: 'RUN_STARTED', ...run }, { type: 'RUN_ERROR', message: 'the model is gone' }),
  },
};

const answer = {
  text: ['Let me see – 🙂.'],
  reasoning: [],
  tools: [
    { toolCallId: 'c1', toolName: 'weather', state: 'output-available', input: { city: 'Oslo' }, output: { celsius: 4 } },
  ],
  sources: [],
  files: [],
  data: [],
};

for (const [dialect, streams] of Object.entries(written)) {
  for (const vendor of vendorsOf[dialect]) {
    test(`${vendor} renders a whole stream`, async () => {
      assertRenders(vendor, await judge(vendor, streams.whole), answer);
    });
    test(`${vendor} renders the same stream in reads of 7 bytes`, async () => {
      assertRenders(vendor, await judge(vendor, streams.whole, { pieceSize: 7 }), answer);
    });
    test(`${vendor} refuses a broken stream`, async () => {
      const verdict = await judge(vendor, streams.broken);
      assert.equal(verdict.ok, false, JSON.stringify(verdict));
    });
    test(`${vendor} reports a run that failed`, async () => {
      const verdict = await judge(vendor, streams.failed);
      assert.match(verdict.error ?? '', /the model is gone|Stream closed before a terminal chunk/);
    });
  }
}

test('every vendor reads a dialect', () => {
  assert.deepEqual(Object.values(vendorsOf).flat().sort(), [...vendors].sort());
});

// A case is `<name>.sse` with `<name>.expected.json`: the flattened answer. Two members may be added to it:
// `error`, a part of the error that the client must show, and `vendors`, when only some of the dialect's clients
// can read the stream (the profile `ai-7`, for example).
let judged = 0;
// Committed cases, and those that the Rust tests of this run generated.
const folders = [new URL('../cases/', import.meta.url)];
if (process.env.HEADWATER_GENERATED_CASES) folders.push(pathToFileURL(`${process.env.HEADWATER_GENERATED_CASES}/`));
for (const cases of folders) {
  for (const dialect of Object.keys(vendorsOf)) {
    const folder = new URL(`${dialect}/`, cases);
    if (existsSync(folder)) judgeFolder(dialect, folder);
  }
}

function judgeFolder(dialect, folder) {
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.sse')).sort()) {
    const expectedFile = new URL(file.replace(/\.sse$/, '.expected.json'), folder);
    const { error, vendors: only, ...expected } = JSON.parse(readFileSync(expectedFile, 'utf8'));
    for (const vendor of only ?? vendorsOf[dialect]) {
      judged += 1;
      test(`${vendor} renders ${dialect}/${file}`, async () => {
        const verdict = await judge(vendor, readFileSync(new URL(file, folder)));
        if (error === undefined) return assertRenders(vendor, verdict, expected);
        assert.ok(verdict.error?.includes(error), `wanted the error "${error}", got ${verdict.error}`);
        assertShows(vendor, verdict, expected);
      });
    }
  }
}

after(() => {
  console.log(`cases: ${judged} judgements of streams that our encoders wrote`);
});

function assertRenders(vendor, verdict, expected) {
  assert.equal(verdict.error, null);
  assert.deepEqual(verdict.warnings, []);
  assertShows(vendor, verdict, expected);
}

/** Expected data may be a wildcard, `"<any>"`. */
function assertShows(vendor, verdict, expected) {
  const shown = flatten(vendor, verdict.messages);
  shown.data.forEach((data, at) => {
    if (expected.data[at]?.data === '<any>') data.data = '<any>';
  });
  assert.deepEqual(shown, expected);
}
