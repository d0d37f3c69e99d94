// Writes the table of docs/dialects.md, libraries × behaviours, from the results of a run:
//
//   node run.mjs --results results.tap; node table.mjs results.tap
//
// The versions are those of the lock files.

import { readFile, writeFile } from 'node:fs/promises';
import { BEHAVIOURS } from './lib/behaviours.mjs';
import { PAGES } from './lib/catalog.mjs';

const DOCUMENT = new URL('../../docs/dialects.md', import.meta.url);
const BEGIN = '<!-- generated: behaviours -->';
const END = '<!-- /generated -->';

const [file] = process.argv.slice(2);
if (!file) throw new Error('name the results: node table.mjs results.tap');

const results = outcomes(await readFile(file, 'utf8'));
const columns = [...new Set(BEHAVIOURS.map(({ name }) => name))];
const rows = await Promise.all(Object.entries(PAGES).map(async ([name, page]) => row(name, page)));
const table = [`| page | packages | ${columns.join(' | ')} |`, `|---|---|${'---|'.repeat(columns.length)}`, ...rows].join('\n');

const text = await readFile(DOCUMENT, 'utf8');
const [before, rest] = text.split(BEGIN);
const after = rest?.split(END).slice(1).join(END);
if (after === undefined) throw new Error(`docs/dialects.md has no ${BEGIN}`);
await writeFile(DOCUMENT, `${before}${BEGIN}\n${table}\n${END}${after}`);

/** Whether all tests of a page's behaviour passed, by `page: behaviour`. */
function outcomes(tap) {
  const found = new Map();
  for (const [, not, title, note] of tap.matchAll(/^ *(not )?ok \d+ - ([^:\n]+: [^:\n]+): [^\n#]*(#[^\n]*)?$/gm)) {
    if (note?.includes('SKIP')) continue;
    found.set(title, (found.get(title) ?? true) && !not);
  }
  return found;
}

async function row(name, page) {
  const versions = await locked(page);
  const cells = columns.map((behaviour) => {
    if (behaviour in page.cannot) return '–';
    const passed = results.get(`${name}: ${behaviour}`);
    return passed === undefined ? '' : passed ? '✓' : '✗';
  });
  return `| \`${name}\` | ${versions.join(', ')} | ${cells.join(' | ')} |`;
}

/** The packages of a page with their versions. One under another name has its own in the lock. */
async function locked({ folder, packages }) {
  const lock = JSON.parse(await readFile(new URL(`${folder}package-lock.json`, import.meta.url), 'utf8'));
  return packages.map((alias) => {
    const { name = alias, version } = lock.packages[`node_modules/${alias}`];
    return `\`${name}\` ${version}`;
  });
}
