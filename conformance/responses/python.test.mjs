// The clients of PyPI: `openai`, and llm-comply, which holds responses to the schema of Open Responses.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { serve } from './lib.mjs';

const python = process.env.HEADWATER_PYTHON;
const without = python ? false : 'HEADWATER_PYTHON names no Python that has the packages of requirements.txt';
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const run = (...args) => promisify(execFile)(python, args, { maxBuffer: 16 << 20 });

test('openai for Python', { skip: without }, async () => {
  const { base } = await serve();
  const { stdout } = await run(here('client.py'), base);
  assert.match(stdout, /^ok 9\n$/);
});

test('llm-comply', { skip: without }, async (t) => {
  const { base } = await serve({ agents: [here('compliance.yaml')] });
  const cli = ['-m', 'llm_comply.cli', '--base-url', base, '--api-key', 'none', '--model', 'o1-script', '--json'];
  const { stdout } = await run(...cli).catch((failed) => failed);
  const report = JSON.parse(stdout);
  const results = report.results ?? report;
  assert.ok(results.length >= 13, stdout);
  for (const { id, status, errors } of results) {
    await t.test(id, () => assert.equal(status.toLowerCase(), 'passed', errors?.join('\n')));
  }
});
