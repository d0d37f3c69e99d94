import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyStructuredChunk, parsePartialJson, type StructuredStreamState, type StructuredUpdate } from '@headwater/client';
import { judgeRows, plain, type Row } from './vectors.js';

/** The recorder's notation for what JSON cannot say, as JSON prints it. */
function decode(value: any): any {
  if (Array.isArray(value)) return value.map(decode).map((item) => item ?? null);
  if (value === null || typeof value !== 'object') return value;
  if ('$undefined' in value) return undefined;
  if ('$array' in value) {
    const { length, items } = value.$array;
    if (length > 2_000_000) return `an array of ${length} elements`;
    return Array.from({ length }, (_, index) => decode(items[index]) ?? null);
  }
  return plain(Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, decode(inner)])));
}

const without = (state: Row, keys: readonly string[]) => Object.fromEntries(Object.entries(state).filter(([key]) => !keys.includes(key)));

test('structured reducer does what Kortyx recorded', () =>
  judgeRows('kortyx/structured_reducer.jsonl', (row) => row['name'], (row, except) => {
    let state: StructuredStreamState | undefined;
    const states: Row[] = [];
    let error: { index: number; message: string } | undefined;
    for (const [index, chunk] of (row['chunks'] as StructuredUpdate[]).entries()) {
      try {
        const before = JSON.stringify(state);
        const next = applyStructuredChunk(state, chunk);
        assert.equal(JSON.stringify(state), before, 'the state before was changed');
        states.push(without(plain(next) as unknown as Row, except));
        state = next;
      } catch (thrown) {
        if (thrown instanceof assert.AssertionError) throw thrown;
        error = { index, message: (thrown as Error).message };
        break;
      }
    }
    const expected = row['expected'];
    assert.deepEqual(states, expected.states.map((recorded: Row) => without(decode(recorded), except)));
    assert.deepEqual(error, expected.error && { index: expected.error.index, message: expected.error.message });
  }));

test('names that objects inherit are keys like any other', () => {
  const chunk = (path: string, value: unknown): StructuredUpdate => ({ streamId: 's', dataType: 'd', kind: 'set', path, value });
  const state = ['__proto__.a', 'constructor', 'hasOwnProperty.x'].reduce(
    (held: StructuredStreamState | undefined, path) => applyStructuredChunk(held, chunk(path, 1)),
    undefined,
  );
  assert.equal(JSON.stringify(state?.data), '{"__proto__":{"a":1},"constructor":1,"hasOwnProperty":{"x":1}}');
  assert.equal(({} as { a?: unknown }).a, undefined);
});

test('path says with a tilde what a key could not say otherwise', () => {
  const paths = ['m.x~1y', 'm.~:12', 'm.~01', 'm.~user'];
  const state = paths.reduce(
    (held: StructuredStreamState | undefined, path, value) => applyStructuredChunk(held, { streamId: 's', dataType: 'd', kind: 'set', path, value }),
    undefined,
  );
  assert.deepEqual(state?.data, { m: { 'x.y': 0, 12: 1, '~1': 2, '~user': 3 } });
});

test('value without any unsets its place', () => {
  const set = (path: string, value?: unknown): StructuredUpdate => ({ streamId: 's', dataType: 'd', kind: 'set', path, ...(value === undefined ? {} : { value }) });
  let state = applyStructuredChunk(undefined, set('a', 1));
  state = applyStructuredChunk(state, set('b.0', 1));
  state = applyStructuredChunk(state, set('a'));
  state = applyStructuredChunk(state, set('b.0'));
  assert.deepEqual(plain(state.data), { b: [null] });
  state = applyStructuredChunk(state, { streamId: 's', dataType: 'd', kind: 'text-delta', path: 'b.0', delta: 'x' });
  assert.deepEqual(state.data, { b: ['x'] });
});

/** Texts are too long and too odd for names. */
const line = (_: Row, index: number) => `line ${index + 1}`;

test('partial JSON is the value so far', async () => {
  for (const file of ['aisdk/parse-partial-json.jsonl', 'aisdk/parse-partial-json.lone-surrogate.jsonl']) {
    await judgeRows(file, line, (row) =>
      assert.deepEqual(plain(parsePartialJson(row['text'])), row['hasValue'] ? row['value'] : undefined, JSON.stringify(row['text'])));
  }
  await judgeRows('tanstack/partial-json.jsonl', line, (row) =>
    assert.deepEqual(plain(parsePartialJson(row['input'])), row['defined'] ? row['output'] : undefined, JSON.stringify(row['input'])));
});
