// Runs the tests of all pages, or of some, and keeps what came of them.
//
//   node run.mjs [--page NAME]… [--results FILE] [--only TEXT]
//
// Without a page the examples are run too.
//
// `--results` is where `table.mjs` reads them. `node --test` alone runs the short set.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PAGES, SHORT } from './lib/catalog.mjs';

const { values } = parseArgs({
  options: {
    page: { type: 'string', multiple: true },
    results: { type: 'string' },
    only: { type: 'string' },
  },
});

const pages = values.page ?? Object.keys(PAGES);
const unknown = pages.filter((name) => !PAGES[name]);
if (unknown.length > 0) throw new Error(`unknown page ${unknown.join(', ')}: use ${Object.keys(PAGES).join(', ')}`);
for (const folder of new Set(pages.map((name) => PAGES[name].folder))) {
  if (!existsSync(new URL(`${folder}node_modules`, import.meta.url))) throw new Error(`run \`npm ci --ignore-scripts\` in ${folder} first`);
}

const files = pages.map((name) => (SHORT.includes(name) ? `${name}.test.mjs` : `more/${name}.mjs`));
if (!values.page) files.push('guides.test.mjs', 'mui-faults.test.mjs', 'more/copilotkit-threads.mjs', ...(await tests('examples/')), ...(await tests('more/examples/')));
const reporters = ['--test-reporter=spec', '--test-reporter-destination=stdout'];
if (values.results) reporters.push('--test-reporter=tap', `--test-reporter-destination=${values.results}`);
const only = values.only ? [`--test-name-pattern=${values.only}`] : [];

// A page waits for its server most of the time, so two share a core.
const child = spawn(process.execPath, ['--test', '--test-concurrency=2', ...reporters, ...only, ...files], {
  cwd: fileURLToPath(new URL('.', import.meta.url)),
  stdio: 'inherit',
});
child.on('exit', (code) => (process.exitCode = code ?? 1));

/** The files of tests in a folder. */
async function tests(folder) {
  const names = await readdir(new URL(folder, import.meta.url));
  return names.filter((name) => name.endsWith('.mjs')).map((name) => `${folder}${name}`);
}
