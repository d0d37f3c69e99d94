import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { applyPatch, readStream, RunReducer, type Event, type Message, type NativeRecord } from '@headwater/client';
import { repository, streamOf } from './vectors.js';

const user: Message = { id: 'u1', role: 'user', status: 'sent', parts: [{ type: 'text', id: 't', text: 'Hi', state: 'done' }] };
const record = (event: Event, fields: Partial<NativeRecord> = {}): NativeRecord => ({ seq: 0, message: 'm1', event, ...fields });
const started = record({ type: 'run-started', run: 'r1' });
const delta = (text: string, fields: Partial<NativeRecord> = {}) => record({ type: 'block-delta', kind: 'text', id: 't1', delta: text }, fields);

function reduce(records: NativeRecord[], messages: Message[] = []) {
  const reducer = new RunReducer(messages);
  for (const item of records) reducer.apply(item);
  return reducer.snapshot();
}

const texts = (messages: readonly Message[]) =>
  messages.map((message) => message.parts.map((part) => ('text' in part && part.text) || part.type).join('|'));

test('recorded stream becomes a message with text, tool and source', async () => {
  for (const name of ['native.sse', 'native.ndjson']) {
    const reducer = new RunReducer();
    const body = streamOf(readFileSync(new URL(`examples/streams/${name}`, repository)));
    for await (const item of readStream<NativeRecord>(body)) reducer.apply(item);
    const { messages, run } = reducer.snapshot();
    assert.equal(run.status, 'finished');
    assert.equal(run.finishReason, 'stop');
    assert.equal(run.usage?.outputTokens, 456);
    assert.equal(messages.length, 1);
    assert.equal(messages[0]?.status, 'sent');
    assert.deepEqual(messages[0]?.parts.map((part) => part.type), ['text', 'tool', 'source-url', 'text']);
    const tool = messages[0]?.parts[1];
    assert.ok(tool?.type === 'tool' && tool.state === 'output-available');
    assert.deepEqual(tool.input, { query: 'Smith Masonry Denver' });
  }
});

test('snapshot is never changed, and settled messages keep their identity', () => {
  const reducer = new RunReducer([user]);
  reducer.apply(started);
  reducer.apply(delta('Hel'));
  const first = reducer.snapshot();
  reducer.apply(delta('lo'));
  reducer.apply(record({ type: 'tool-input-start', call: 'c1', name: 'search' }));
  const second = reducer.snapshot();
  assert.deepEqual(texts(first.messages), ['Hi', 'Hel']);
  assert.deepEqual(texts(second.messages), ['Hi', 'Hello|tool']);
  assert.equal(second.messages[0], user);
  assert.notEqual(second.messages[1], first.messages[1]);
  reducer.apply(record({ type: 'tool-input-delta', call: 'c1', delta: '{' }));
  const third = reducer.snapshot();
  assert.equal(third.messages[1]?.parts[0], second.messages[1]?.parts[0], 'the text did not change');
  assert.notEqual(third.messages[1]?.parts[1], second.messages[1]?.parts[1]);
  assert.equal(reducer.snapshot().messages, third.messages, 'nothing happened in between');
});

test('retracted attempt goes, but for calls that had an effect', () => {
  const { messages } = reduce([
    started,
    delta('wrong', { attempt: 'a1' }),
    record({ type: 'tool-input-available', call: 'c1', name: 'mail', input: {} }, { attempt: 'a1' }),
    record({ type: 'tool-output', call: 'c1', output: 'sent' }, { attempt: 'a1' }),
    record({ type: 'attempt-retracted', attempt: 'a1' }),
    delta('right', { attempt: 'a2' }),
  ]);
  assert.deepEqual(texts(messages), ['tool|right']);
});

test('replay replaces what the run has said so far, and nothing else', () => {
  const replay = { replay: true } as const;
  const messages: Message[] = [user, { id: 'm1', role: 'assistant', status: 'streaming', parts: [{ type: 'text', id: 't1', text: 'Hel', state: 'streaming' }] }];
  const again = [
    record({ type: 'run-started', run: 'r1' }, replay),
    record({ type: 'message-started', message: 'm1', role: 'assistant' }, replay),
    delta('Hello', replay),
  ];
  assert.deepEqual(texts(reduce([...again, delta(' you')], messages).messages), ['Hi', 'Hello you'], 'after a reload');
  const live = reduce([started, delta('Hel'), ...again, delta(' you'), ...again], [user]);
  assert.deepEqual(texts(live.messages), ['Hi', 'Hello'], 'after live records');
});

test('question opens, is answered, and loses its token', () => {
  const ask = record({ type: 'interrupt-requested', request: 'q1', token: 'secret', kind: 'text', question: 'Which?' });
  const open = reduce([started, ask, record({ type: 'run-waiting' })]);
  assert.equal(open.run.status, 'waiting');
  const asked = open.messages[0]?.parts[0];
  assert.ok(asked?.type === 'question' && asked.state === 'open' && asked.interrupt.token === 'secret');
  const closed = reduce([started, ask, record({ type: 'run-waiting' }), record({ type: 'interrupt-answered', request: 'q1', answer: 'a' })]);
  assert.equal(closed.run.status, 'running');
  const part = closed.messages[0]?.parts[0];
  assert.ok(part?.type === 'question' && part.state === 'answered' && part.answer === 'a' && !('token' in part.interrupt));
});

test('approval is requested, given and followed by the output', () => {
  const states: string[] = [];
  const reducer = new RunReducer();
  const events: Event[] = [
    { type: 'tool-input-start', call: 'c1', name: 'mail' },
    { type: 'tool-input-delta', call: 'c1', delta: '{"to":"ann"}' },
    { type: 'approval-requested', approval: 'p1', call: 'c1', name: 'mail', input: { to: 'ann' } },
    { type: 'approval-answered', approval: 'p1', approved: true, reason: 'fine' },
    { type: 'tool-output', call: 'c1', output: 1, preliminary: true },
    { type: 'tool-output', call: 'c1', output: 2 },
  ];
  for (const event of events) {
    reducer.apply(record(event));
    const part = reducer.snapshot().messages[0]?.parts[0];
    if (part?.type === 'tool') states.push(`${part.state} ${JSON.stringify(part.input)} ${part.output ?? ''}${part.preliminary ? '…' : ''}`);
  }
  assert.deepEqual(states, [
    'input-streaming undefined ', 'input-streaming undefined ', 'approval-requested {"to":"ann"} ', 'approval-responded {"to":"ann"} ',
    'output-available {"to":"ann"} 1…', 'output-available {"to":"ann"} 2',
  ]);
});

test('structured object grows in its part, and disappears when it is invalidated', () => {
  const update = (fields: object) => record({ type: 'structured', streamId: 's1', dataType: 'email', ...fields } as Event);
  const records = [started, update({ kind: 'set', path: 'subject', value: 'Hi' }), update({ kind: 'append', path: 'rows', items: [1] })];
  const growing = reduce(records);
  assert.deepEqual(growing.messages[0]?.parts, [{ type: 'structured', stream: 's1', dataType: 'email', data: { subject: 'Hi', rows: [1] } }]);
  assert.equal(growing.structured['s1']?.status, 'streaming');
  const reducer = new RunReducer();
  for (const item of records) reducer.apply(item);
  const held = reducer.snapshot();
  assert.throws(() => reducer.apply(update({ kind: 'text-delta', path: 'rows', delta: 'x' })), /does not fit/);
  reducer.apply(update({ kind: 'append', path: 'rows', items: [2] }));
  assert.deepEqual(held.structured['s1']?.data, { subject: 'Hi', rows: [1] }, 'a snapshot shares no array that grows');
  assert.deepEqual(reducer.snapshot().structured['s1']?.data, { subject: 'Hi', rows: [1, 2] });
  const gone = reduce([...records, record({ type: 'structured-invalidated', stream: 's1' })]);
  assert.deepEqual([gone.messages[0]?.parts, gone.structured], [[], {}]);
});

test('data with a known id is replaced, and transient data is not kept', () => {
  const data = (id: string | undefined, value: number, transient?: true) =>
    record({ type: 'data', name: 'progress', data: value, ...(id && { id }), ...(transient && { transient }) });
  const { messages } = reduce([started, data('a', 1), data('b', 2), data('a', 3), data(undefined, 4), data('c', 5, true)]);
  assert.deepEqual(messages[0]?.parts.map((part) => (part.type === 'data' ? part.data : part.type)), [3, 2, 4]);
});

test('end of the run settles what was open; later records change nothing', () => {
  const ends: [Event, string, string][] = [
    [{ type: 'run-finished', reason: 'stop' }, 'finished', 'sent'],
    [{ type: 'run-failed', message: 'no', code: 'model.overloaded' }, 'failed', 'error'],
    [{ type: 'run-cancelled', reason: 'stop' }, 'cancelled', 'cancelled'],
  ];
  for (const [end, run, message] of ends) {
    const state = reduce([started, delta('Hi'), record(end), delta(' late')]);
    assert.deepEqual([state.run.status, state.messages[0]?.status, texts(state.messages)], [run, message, ['Hi']]);
  }
});

test('shared state is replaced and patched', () => {
  const reducer = new RunReducer([], { applyPatch });
  const records = [
    record({ type: 'state-snapshot', state: { a: { 'b/c': [1] } } }),
    record({ type: 'state-delta', patch: [{ op: 'add', path: '/a/b~1c/-', value: 2 }, { op: 'remove', path: '/a/b~1c/0' }, { op: 'copy', from: '/a', path: '/d' }] }),
  ];
  for (const item of records) reducer.apply(item);
  assert.deepEqual(reducer.snapshot().shared, { a: { 'b/c': [2] }, d: { 'b/c': [2] } });
});

test('events of later versions are passed over', () => {
  const later = { type: 'tool-of-tomorrow', call: 'c1' } as unknown as Event;
  assert.deepEqual(reduce([started, record({ type: 'weather' } as unknown as Event), delta('Hi')]).messages.length, 1);
  assert.doesNotThrow(() => reduce([started, record(later)]));
});

test('a thousand deltas make one copy between snapshots', () => {
  const reducer = new RunReducer(Array.from({ length: 1000 }, (_, index) => ({ ...user, id: `u${index}` })));
  reducer.apply(started);
  for (let index = 0; index < 1000; index += 1) reducer.apply(delta('x'));
  const first = reducer.snapshot();
  const held = first.messages.at(-1)?.parts[0];
  reducer.apply(delta('y'));
  const grown = reducer.snapshot().messages.at(-1)?.parts[0];
  reducer.apply(delta('z'));
  assert.notEqual(grown, held);
  assert.ok(grown?.type === 'text' && grown.text.length === 1001);
});

test('deltas of several blocks and messages go each to its own, with a snapshot at any place', () => {
  const of = (message: string, id: string, kind: 'text' | 'reasoning', text: string, metadata?: Record<string, string>) =>
    record({ type: 'block-delta', kind, id, delta: text, ...(metadata && { metadata }) }, { message });
  const records = [
    started,
    of('m1', 'a', 'text', '1'), of('m1', 'a', 'text', '2'), of('m1', 'b', 'text', '3'), of('m1', 'a', 'text', '4'),
    of('m2', 'a', 'text', '5'), of('m2', 'a', 'text', '6'), of('m1', 'a', 'text', '7'), of('m1', 'a', 'reasoning', '8'), of('m1', 'a', 'text', '9', { by: 'x' }),
    record({ type: 'block-ended', kind: 'text', id: 'a' }), of('m1', 'a', 'text', '0'), of('m1', 'a', 'text', '!'),
  ];
  const expected = ['12479|3|8|0!', '56'];
  assert.deepEqual(texts(reduce(records).messages), expected);
  for (let place = 1; place < records.length; place += 1) {
    const reducer = new RunReducer();
    for (const item of records.slice(0, place)) reducer.apply(item);
    const before = reducer.snapshot();
    const kept = JSON.stringify(before);
    for (const item of records.slice(place)) reducer.apply(item);
    assert.deepEqual(texts(reducer.snapshot().messages), expected);
    assert.equal(JSON.stringify(before), kept, `the snapshot before record ${place} is not changed`);
  }
});
