// Holds the reader and the reducer to what was recorded of Kortyx, where the recordings are at hand
// (`HEADWATER_VECTORS`). What depends on JavaScript's own oddities (prototypes, holes in arrays) is left out: no server
// of ours sends it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { plain } from '../../lib/normal.mjs';
import { readStream } from './read-stream.mjs';
import { applyStructuredChunk } from './structured.mjs';

/** How many recordings agree; throws at the first that does not. */
export async function agree(folder) {
  const rows = (file) =>
    readFileSync(join(folder, 'vectors/kortyx', file), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  let agreed = 0;
  const same = (name, seen, recorded) => {
    if (!isDeepStrictEqual(plain(seen), recorded)) throw new Error(`${name}: ${JSON.stringify(seen)}`);
    agreed += 1;
  };
  for (const { name, pieces_b64, chunks } of rows('sse.jsonl')) {
    const seen = [];
    for await (const chunk of readStream(pieces(pieces_b64))) seen.push(chunk);
    same(name, seen, chunks);
  }
  for (const row of rows('structured_reducer.jsonl')) {
    if (row.unsafe || row.limit_note || row.quirks?.length > 0) continue;
    same(row.name, reduced(row.chunks), row.expected);
  }
  return agreed;
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
  const states = [];
  for (const [index, chunk] of chunks.entries()) {
    try {
      states.push(applyStructuredChunk(states.at(-1), chunk));
    } catch (error) {
      return { states, error: { index, message: error.message } };
    }
  }
  return { states };
}
