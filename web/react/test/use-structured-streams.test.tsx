import assert from 'node:assert/strict';
import { useEffect } from 'react';
import { afterEach, test } from 'node:test';
import { act, complaints, render, until } from './dom.js';
import { useStructuredStreams, type UseStructuredStreams } from '@headwater/react';

afterEach(() => assert.deepEqual(complaints.splice(0), []));

const chunk = (streamId: string, fields: object) => ({ type: 'structured-data', streamId, dataType: 'email', ...fields });
let structured: UseStructuredStreams<Record<string, unknown>>;

function View({ initialChunks }: { initialChunks?: { type: string }[] }) {
  structured = useStructuredStreams<Record<string, unknown>>(initialChunks ? { initialChunks } : {});
  return <>{structured.items.map(({ streamId, status, data }) => `${streamId} ${status} ${JSON.stringify(data)};`)}</>;
}

test('chunks build objects, in the order in which they began', async () => {
  const page = await render(<View initialChunks={[chunk('9', { kind: 'final', data: { a: 1 } })]} />);
  assert.equal(page.text(), '9 done {"a":1};');
  await act(async () => {
    structured.applyStreamChunk(chunk('1', { kind: 'set', path: 'subject', value: 'Hi' }));
    structured.applyStreamChunk({ type: 'text-delta' });
    assert.deepEqual(structured.get('1')?.data, { subject: 'Hi' }, 'it is there before the next render');
  });
  await until(() => page.text() === '9 done {"a":1};1 streaming {"subject":"Hi"};');
  assert.deepEqual(Object.keys(structured.byStreamId), ['1', '9']);
  await act(async () => structured.delete('9'));
  assert.equal(page.text(), '1 streaming {"subject":"Hi"};');
  await act(async () => structured.applyStreamChunk({ type: 'structured-data-invalidated', streamIds: ['1'] } as { type: string }));
  await until(() => page.text() === '');
  await act(async () => structured.clear());
  await page.unmount();
});

test('400 chunks in an effect do not exceed the depth of updates', async () => {
  let renders = 0;
  function Replay() {
    const { applyStreamChunk, get, clear } = useStructuredStreams<{ rows: number[] }>();
    renders += 1;
    useEffect(() => {
      for (let row = 0; row < 400; row += 1) applyStreamChunk(chunk('s', { kind: 'append', path: 'rows', items: [row] }));
      return clear;
    }, [applyStreamChunk, clear]);
    return <>{get('s')?.data?.rows.length}</>;
  }
  const page = await render(<Replay />);
  await until(() => page.text() === '400');
  assert.ok(renders < 20, `${renders} renders`);
  await page.unmount();
});
