// The short form: each client with Headwater alone, on a network that is worse than the bench's, with a kill of the server.
//
//   HEADWATER_BINARY=PATH node --test

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { series } from './series.mjs';
import { subjects } from './subjects.mjs';

const binary = process.env.HEADWATER_BINARY;
const settings = { binary, conversations: 6, atOnce: 6, words: 20, pace: 15, chance: 0.05, patience: 60_000, seed: 'test', load: 0 };

// Clients report cut connections on the console, and some leave rejections behind.
for (const word of ['log', 'info', 'debug', 'warn', 'error']) console[word] = () => {};
process.on('unhandledRejection', () => {});

describe('a bad network', { concurrency: 2 }, () => {
  for (const subject of subjects.filter(({ file }) => file === 'headwater')) {
    it(`${subject.client}: cuts and a kill change no answer`, async () => {
      assert.ok(binary, 'HEADWATER_BINARY must name the built headwater');
      const { answers, wrong, duplicated, missing, withoutEnd, cuts } = await series(subject, settings);
      assert.deepEqual({ answers, wrong, duplicated, missing, withoutEnd }, { answers: 12, wrong: 0, duplicated: 0, missing: 0, withoutEnd: 0 });
      assert.ok(cuts > 0, 'nothing was cut');
    });
  }
});
