// The short form, for `cargo xtask test`: each client with Headwater alone, on a network that is worse than the bench's, with a kill of the
// server. Prints one line for each client (TAP).
//
//   HEADWATER_BINARY=PATH node short.mjs
//
// It is no file of `node --test`, which counts rejections that clients leave behind as failures.

import { isDeepStrictEqual } from 'node:util';
import { series } from './series.mjs';
import { subjects } from './subjects.mjs';

const binary = process.env.HEADWATER_BINARY;
if (!binary) throw new Error('HEADWATER_BINARY must name the built headwater');
const settings = { binary, conversations: 6, atOnce: 6, words: 20, pace: 15, chance: 0.05, patience: 60_000, seed: 'test', load: 0 };
const EXPECTED = { answers: 12, wrong: 0, duplicated: 0, missing: 0, withoutEnd: 0 };

// Clients report cut connections on the console.
const print = console.log.bind(console);
for (const word of ['log', 'info', 'debug', 'warn', 'error']) console[word] = () => {};
process.on('unhandledRejection', () => {});

const ours = subjects.filter(({ file }) => file === 'headwater');
const queue = [...ours];
let failed = 0;

async function work() {
  for (let subject = queue.shift(); subject; subject = queue.shift()) {
    const name = `${subject.client}: cuts and a kill change no answer`;
    const found = await series(subject, settings).catch((error) => ({ error: error.stack }));
    const { answers, wrong, duplicated, missing, withoutEnd, cuts } = found;
    const isWhole = isDeepStrictEqual({ answers, wrong, duplicated, missing, withoutEnd }, EXPECTED) && cuts > 0;
    failed += isWhole ? 0 : 1;
    print(`${isWhole ? 'ok' : 'not ok'} - ${name}`);
    if (!isWhole) print(`  | ${found.error ?? JSON.stringify(found)}`);
  }
}

await Promise.all([work(), work()]);
print(`1..${ours.length}\n# pass ${ours.length - failed}\n# fail ${failed}`);
// Some of the clients leave timers behind.
process.exit(failed === 0 ? 0 : 1);
