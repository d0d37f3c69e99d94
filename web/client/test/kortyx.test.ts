import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { applyChunk, emptyAnswer, readStream, streamFromRoute, type StreamChunk } from '@headwater/client/kortyx';
import { collect, fromBase64, judgeRows, plain, repository, streamOf } from './vectors.js';

/** The bytes are such that Kortyx' reader and the standard see different blocks. */
function departs(bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes);
  const hasData = (piece: string) => piece.split(/[\r\n]/).some((line) => line === 'data' || line.startsWith('data:'));
  const at = text.lastIndexOf('\n\n');
  const [whole, tail] = at < 0 ? ['', text] : [text.slice(0, at), text.slice(at + 2)];
  const foreign = (piece: string) => (piece.startsWith('data: ') ? /[\r\n]/.test(piece.slice(6).replace(/\r+$/, '')) : hasData(piece));
  return whole.split('\n\n').some(foreign) || (hasData(tail) && tail.includes('\r'));
}

/** The payloads by the rules of the standard, up to the end marker. */
function standard(bytes: Uint8Array): string[] {
  const payloads: string[] = [];
  let data: string[] = [];
  for (const line of new TextDecoder().decode(bytes).split(/\r\n|\r|\n/).slice(0, -1)) {
    if (line === '' && data.length > 0) {
      if (data.join('\n').trim() === '[DONE]') break;
      payloads.push(data.join('\n'));
      data = [];
    } else if (line === 'data') data.push('');
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return payloads;
}

test('streams are read as Kortyx reads them, or as the standard says', () =>
  judgeRows('kortyx/sse.jsonl', (row) => row['name'], async (row) => {
    const pieces = fromBase64(row['pieces_b64']);
    const invalid: string[] = [];
    const chunks = await collect(readStream(streamOf(...pieces), { framing: 'sse', onInvalid: (data) => invalid.push(data) }));
    const bytes = Buffer.concat(pieces);
    const parsed = (payload: string) => {
      try {
        return [JSON.parse(payload)];
      } catch {
        return [];
      }
    };
    assert.deepEqual(plain(chunks), departs(bytes) ? standard(bytes).flatMap(parsed) : row['chunks']);
    if (!departs(bytes)) assert.equal(invalid.length, row['warned_payloads'].length);
  }));

test('answer has text, object and question as pieces', async () => {
  const read = async (name: string) => {
    let answer = emptyAnswer;
    for await (const chunk of readStream(streamOf(readFileSync(new URL(`examples/streams/${name}`, repository))))) answer = applyChunk(answer, chunk);
    return answer;
  };
  const answer = await read('kortyx.sse');
  assert.ok(answer.isDone);
  assert.ok(answer.pieces.some((piece) => piece.type === 'text' && piece.content && !piece.isStreaming));
  const asking = await read('kortyx-interrupt.sse');
  assert.ok(asking.pieces.some((piece) => piece.type === 'interrupt' && piece.resumeToken));
});

test('pieces that a chunk does not touch keep their identity', () => {
  const chunks: StreamChunk[] = [
    { type: 'text-start', segmentId: 'a' },
    { type: 'text-delta', segmentId: 'a', delta: 'Hi' },
    { type: 'text-end', segmentId: 'a' },
    { type: 'structured-data', streamId: 's', dataType: 'email', kind: 'set', path: 'subject', value: 'News' },
  ];
  const before = chunks.reduce(applyChunk, emptyAnswer);
  const after = applyChunk(before, { type: 'structured-data', streamId: 's', dataType: 'email', kind: 'text-delta', path: 'body', delta: 'Hi' });
  assert.equal(after.pieces[0], before.pieces[0]);
  assert.deepEqual(after.pieces[1], { type: 'structured', id: 'structured s', data: { streamId: 's', dataType: 'email', status: 'streaming', data: { subject: 'News', body: 'Hi' } } });
  assert.deepEqual(applyChunk(after, { type: 'structured-data-invalidated', streamIds: ['s'] }).pieces.length, 1);
});

test('route that refuses is an error with its code', async () => {
  const fetch = () => Promise.resolve(new Response('{"error":"no key","code":"auth.missing"}', { status: 401 }));
  await assert.rejects(collect(streamFromRoute({ endpoint: '/api/chat', body: {}, fetch })), { code: 'auth.missing', status: 401 });
});
