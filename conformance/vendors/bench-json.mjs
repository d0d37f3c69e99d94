// How long the vendors' own code takes for the documents that our bench measured, in pieces of 16 bytes.
//
// Reads HEADWATER_BENCH_DIR/<document>.json and prints one line of JSON per measurement:
//   {"document","size","piece","what":"vendor …","bytes","seconds"}
//
// Each of them reads all the text so far again at every piece, so a whole document takes long: it is read once, after a
// warm-up on its first tenth. The smaller of CPU and wall time counts.

import { readdirSync, readFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { parsePartialJson, readUIMessageStream } from 'ai';
import { parse as parsePartial } from 'partial-json';

const piece = 16;

const vendors = {
  // What a client does with the deltas of a tool's input.
  async 'vendor ai tool input'(pieces) {
    const chunks = [
      { type: 'start', messageId: 'bench' },
      { type: 'tool-input-start', toolCallId: 'call', toolName: 'write' },
      ...pieces.map((inputTextDelta) => ({ type: 'tool-input-delta', toolCallId: 'call', inputTextDelta })),
    ];
    for await (const _ of readUIMessageStream({ stream: streamOf(chunks) }));
  },
  // What a server does with a partial output, without the rest of the call.
  async 'vendor ai parsePartialJson'(pieces) {
    let text = '';
    for (const delta of pieces) await parsePartialJson((text += delta));
  },
  // What TanStack AI does with the deltas of a tool's input.
  async 'vendor partial-json'(pieces) {
    let text = '';
    for (const delta of pieces) {
      text += delta;
      try {
        parsePartial(text);
      } catch {
        // Nothing is known yet.
      }
    }
  },
};

function split(text) {
  const pieces = [];
  for (let at = 0; at < text.length; at += piece) pieces.push(text.slice(at, at + piece));
  return pieces;
}

function streamOf(items) {
  let next = 0;
  return new ReadableStream({
    pull: (controller) => (next < items.length ? controller.enqueue(items[next++]) : controller.close()),
  });
}

async function timed(run, pieces) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await run(pieces);
  const wall = (performance.now() - start) / 1e3;
  const { user, system } = process.cpuUsage(cpu);
  return Math.min(wall, (user + system) / 1e6);
}

const folder = process.env.HEADWATER_BENCH_DIR;
if (!folder) {
  console.error('HEADWATER_BENCH_DIR is not set: it names the folder with the documents to measure');
  process.exit(2);
}
for (const file of readdirSync(folder).filter((name) => name.endsWith('.json')).sort()) {
  const text = readFileSync(join(folder, file), 'utf8');
  const pieces = split(text);
  for (const [what, run] of Object.entries(vendors)) {
    await timed(run, pieces.slice(0, pieces.length / 10));
    const seconds = await timed(run, pieces);
    const bytes = Buffer.byteLength(text);
    console.log(JSON.stringify({ document: parse(file).name, size: 100000, piece, what, bytes, seconds }));
  }
}
process.exit(0);
