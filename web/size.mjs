// Prints what each entry point costs, minified and compressed, and fails if one is above its limit.
//
// The core is what a page needs to chat. A dialect, and the hooks, are what they add to it: they share its reader of
// streams. What an entry point costs alone is printed too.

import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const KB = 1024;
const core = `export { createChat, readStream } from '@headwater/client';`;
const dialects = ['agents', 'ag-ui', 'ai-sdk', 'kortyx', 'mui', 'session', 'tanstack', 'transports'].map((name) => `@headwater/client/${name}`);

/** The size of a module with everything that it imports but React. */
async function size(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: new URL('.', import.meta.url).pathname },
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    external: ['react'],
  });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

/** What each entry point adds to a page, and what it may add. */
export async function measureEntryPoints() {
  const base = await size(core);
  const rows = [{ name: '@headwater/client, createChat and readStream', bytes: base, limit: 8 * KB }];
  for (const name of [...dialects, '@headwater/react']) {
    const alone = await size(`export * from '${name}';`);
    const together = await size(`${core} export * as more from '${name}';`);
    rows.push({ name, bytes: together - base, alone, limit: 3 * KB });
  }
  // The adapter shares nothing with the core: a page with MUI X Chat has only this.
  rows.push({ name: '@headwater/mui', bytes: await size(`export * from '@headwater/mui';`), limit: 4 * KB });
  return rows;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await measureEntryPoints();
  const kb = (bytes) => `${(bytes / KB).toFixed(2).padStart(5)} KB`;
  for (const { name, bytes, alone, limit } of rows) {
    const verdict = bytes > limit ? 'ABOVE the limit of' : 'at most';
    console.log(`${name.padEnd(46)} ${kb(bytes)}, ${verdict} ${limit / KB} KB${alone ? `; alone ${kb(alone)}` : ''}`);
  }
  process.exitCode = rows.some(({ bytes, limit }) => bytes > limit) ? 1 : 0;
}
