// The code in docs/guides and in the README is that of the pages in examples/web: `<!-- code: FILE#REGION -->`, a block, `<!-- /code -->`.
// `HEADWATER_BLESS=1 node --test guides.test.mjs` writes it.

import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { test } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
const GUIDES = new URL('docs/guides/', ROOT);

const BEGIN = /^\s*(?:\/\/|\{\/\*) region: (\S+)(?: \*\/\})?$/;
const END = /^\s*(?:\/\/ endregion|\{\/\* endregion \*\/\})$/;

/** The lines of a region without those of regions inside it. One that is opened twice is both, with an empty line between. */
function region(text, name) {
  const found = [];
  const open = [];
  for (const line of text.split('\n')) {
    const begin = BEGIN.exec(line)?.[1];
    if (begin === name) found.push([]);
    if (begin) open.push(begin);
    else if (END.test(line)) open.pop();
    else if (open.at(-1) === name) found.at(-1).push(line);
  }
  assert.ok(found.length > 0, `there is no region ${name}`);
  assert.deepEqual(open, [], 'a region has no end');
  return found.map(aligned).join('\n\n');
}

function aligned(lines) {
  const depth = Math.min(...lines.filter(Boolean).map((line) => /^ */.exec(line)[0].length));
  return lines.map((line) => line.slice(depth)).join('\n').replace(/\n{3,}/g, '\n\n').trim();
}

/** The guide with the code that its files have now. */
async function filled(guide) {
  const parts = guide.split(/(<!-- code: \S+#\S+ -->\n)[^]*?(<!-- \/code -->)/);
  for (const [at, part] of parts.entries()) {
    const [, file, name] = /^<!-- code: (\S+)#(\S+) -->/.exec(part) ?? [];
    if (!file) continue;
    const code = region(await readFile(new URL(file, ROOT), 'utf8'), name);
    parts[at] = `${part}\`\`\`${file.split('.').at(-1)}\n${code}\n\`\`\`\n`;
  }
  return parts.join('');
}

const names = (await readdir(GUIDES)).filter((name) => name.endsWith('.md'));

test('the README has the quickstart of the AI SDK', async () => {
  const readme = await readFile(new URL('README.md', ROOT), 'utf8');
  assert.match(readme, /<!-- code: examples\/web\/ai-sdk\/quickstart\.jsx#quickstart -->/);
});

for (const name of [...names, '../../README.md']) {
  test(`guides: ${name} has the code of its page`, async () => {
    const file = new URL(name, GUIDES);
    const guide = await readFile(file, 'utf8');
    const expected = await filled(guide);
    if (process.env.HEADWATER_BLESS) return writeFile(file, expected);
    assert.equal(guide, expected, 'run `HEADWATER_BLESS=1 node --test guides.test.mjs`');
  });
}

for (const name of names) {
  test(`guides: ${name} links to files that exist`, async () => {
    const guide = await readFile(new URL(name, GUIDES), 'utf8');
    const links = [...guide.replace(/```[^]*?```/g, '').matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(([, path]) => path);
    for (const path of links) await assert.doesNotReject(readdir(new URL(path, GUIDES)).catch(() => readFile(new URL(path, GUIDES))), path);
  });
}
