// Prints the size of each entry point, minified and compressed, and fails if one is above its limit.

import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const KB = 1024;
const entries = [
  ['@headwater/client: createChat, readStream', `export { createChat, readStream } from '@headwater/client'`, 8 * KB],
  ...['agents', 'ag-ui', 'ai-sdk', 'kortyx', 'mui', 'tanstack'].map((name) => [
    `@headwater/client/${name}`,
    `export * from '@headwater/client/${name}'`,
    3 * KB,
  ]),
  ['@headwater/react, without the client', `export * from '@headwater/react'`, 3 * KB],
];

let failed = false;
for (const [name, contents, limit] of entries) {
  const external = name.startsWith('@headwater/react') ? ['react', '@headwater/client', '@headwater/client/*'] : [];
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname ?? new URL('.', import.meta.url).pathname },
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    external,
    logLevel: 'silent',
  }).catch(() => ({ outputFiles: null }));
  if (!outputFiles) {
    console.log(`${name.padEnd(45)} cannot be built`);
    failed = true;
    continue;
  }
  const [{ contents: code }] = outputFiles;
  const size = gzipSync(code, { level: 9 }).length;
  const verdict = size > limit ? `above the limit of ${limit / KB} KB` : `at most ${limit / KB} KB`;
  console.log(`${name.padEnd(45)} ${(code.length / KB).toFixed(1).padStart(6)} KB minified ${(size / KB).toFixed(2).padStart(6)} KB gzip, ${verdict}`);
  failed ||= size > limit;
}
process.exitCode = failed ? 1 : 0;
