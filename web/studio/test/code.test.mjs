// Code in an answer is coloured, by a file that only a page with code loads.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { stage } from './stage.mjs';

const folder = mkdtempSync(join(tmpdir(), 'studio-code-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** An agent that always says this. */
function agent(name, text) {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, `name: ${name}\nworkflows: { w: { start: n, nodes: { n: { message: ${JSON.stringify(text)} } } } }\n`);
  return file;
}

const here = stage({
  agents: [
    agent('coder', 'A function:\n\n```ts\nconst answer: number = 42; // <b>not bold</b>\n```\n\nand no language:\n\n```\n<script>alert(1)</script>\n```'),
    agent('plain', 'No code here.'),
  ],
});

test('code: a block with a language has colours, and its text is what was written', async () => {
  const studio = await here.open('coder');
  await studio.send('go');
  await studio.settled();
  await studio.last.locator('.hljs-keyword', { hasText: 'const' }).waitFor();
  const blocks = studio.last.locator('pre code');
  assert.equal(await blocks.first().textContent(), 'const answer: number = 42; // <b>not bold</b>\n');
  assert.equal(await blocks.nth(1).textContent(), '<script>alert(1)</script>\n');
  assert.equal(await blocks.nth(1).locator('span').count(), 0);
});

test('code: a page without code does not load the colours', async () => {
  const studio = await here.open('plain');
  await studio.send('go');
  await studio.settled();
  const loaded = await studio.page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
  assert.ok(!loaded.some((name) => name.includes('highlight')), loaded.join());
});
