// Holds the reader and the reducer to everything that was recorded of Kortyx, where the recordings are at hand
// (`HEADWATER_VECTORS`).

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { plain } from '../../lib/normal.mjs';
import { notation } from './notation.mjs';
import { readStream } from './read-stream.mjs';
import { applyStructuredChunk } from './structured.mjs';

/** Judges every recording and returns how many there are; throws at the first that differs. */
export async function agree(folder) {
  let judged = 0;
  const same = (name, seen, wanted) => {
    judged += 1;
    if (isDeepStrictEqual(seen, wanted)) return;
    throw new Error(`${name}:\n  ${JSON.stringify(seen)}\n  wanted ${JSON.stringify(wanted)}`);
  };
  const rows = (file) =>
    readFileSync(join(folder, 'vectors/kortyx', file), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  const streams = rows('sse.jsonl');
  for (const { name, pieces_b64, chunks } of streams) {
    const seen = [];
    for await (const chunk of readStream(pieces(pieces_b64))) seen.push(chunk);
    same(name, plain(seen), chunks);
  }
  const reductions = rows('structured_reducer.jsonl');
  for (const { name, chunks, expected, unsafe } of reductions) {
    same(name, reduced(chunks), unsafe ? reducedAsPlainKeys(chunks) : expected);
  }
  const recorded = streams.length + reductions.length;
  if (judged !== recorded) throw new Error(`${judged} of ${recorded} recordings were judged: judge every row`);
  const unsafe = reductions.filter((row) => row.unsafe).length;
  return { note: `${judged} of ${recorded} recordings agree, ${unsafe} of them by the rule for inherited names` };
}

function pieces(encoded) {
  return new ReadableStream({
    start(controller) {
      for (const piece of encoded) controller.enqueue(Buffer.from(piece, 'base64'));
      controller.close();
    },
  });
}

function reduced(chunks) {
  let state;
  const states = [];
  for (const [index, chunk] of chunks.entries()) {
    try {
      state = applyStructuredChunk(state, chunk);
    } catch (error) {
      return { states, error: { index, message: error.message } };
    }
    states.push(notation(state));
  }
  return { states };
}

/** Names that every JavaScript object inherits. */
const INHERITED = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'];

/**
 * The result that a recording marked as unsafe must have. In Kortyx a path with an inherited name replaces a prototype or meets a
 * function. The recordings ask readers to treat such a name as plain data instead, so the result is that of an ordinary name in
 * its place, with the name put back.
 */
function reducedAsPlainKeys(chunks) {
  const renamed = (value, from, to) => JSON.parse(JSON.stringify(value).replaceAll(from, to));
  const ordinary = (name) => `ordinary-${INHERITED.indexOf(name)}`;
  const result = reduced(INHERITED.reduce((held, name) => renamed(held, name, ordinary(name)), chunks));
  return INHERITED.reduce((held, name) => renamed(held, ordinary(name), name), result);
}
