// Fails if the committed files of the studio are not the build of the sources, or if a first visit loads too much.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const LIMIT = 150 * 1024;
const here = fileURLToPath(new URL('.', import.meta.url));
const committed = join(here, '../../crates/headwater-cli/src/serve/studio');
const built = mkdtempSync(join(tmpdir(), 'studio-check-'));

const filesOf = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();

try {
  execFileSync(process.execPath, [fileURLToPath(new URL('../node_modules/vite/bin/vite.js', import.meta.url)), 'build', '--logLevel', 'warn'], {
    cwd: here,
    env: { ...process.env, STUDIO_OUT: relative(here, built) },
    stdio: 'inherit',
  });
  const names = new Set([...filesOf(committed), ...filesOf(built)]);
  const differ = [...names].filter((name) => !same(join(committed, name), join(built, name)));
  for (const name of differ) console.error(`crates/headwater-cli/src/serve/studio/${name} is not the build of web/studio`);
  if (differ.length > 0) console.error('run `npm run studio:build` in web/, and commit what it writes');
  // Fonts are compressed already; a licence is not loaded.
  const loaded = firstLoad(built);
  const sizes = filesOf(built)
    .filter((name) => /\.(html|js|css|woff2)$/.test(name))
    .map((name) => [name, name.endsWith('.woff2') ? statSync(join(built, name)).size : gzipSync(readFileSync(join(built, name)), { level: 9 }).length]);
  const total = sizes.reduce((sum, [name, size]) => sum + (loaded.has(name) ? size : 0), 0);
  for (const [name, size] of sizes) console.log(`${name.padEnd(52)} ${(size / 1024).toFixed(1).padStart(6)} KB${loaded.has(name) ? '' : ', on demand'}`);
  console.log(`${'first load, compressed'.padEnd(52)} ${(total / 1024).toFixed(1).padStart(6)} KB, at most ${LIMIT / 1024} KB`);
  if (differ.length > 0 || total > LIMIT) process.exitCode = 1;
} finally {
  rmSync(built, { recursive: true, force: true });
}

/** The page, what it names, and what those files import or load in turn; not what they import on demand. */
function firstLoad(folder) {
  const found = new Set(['index.html']);
  for (const name of found) {
    if (!/\.(html|js|css)$/.test(name)) continue;
    const text = readFileSync(join(folder, name), 'utf8');
    const names = [...text.matchAll(/(?:src=|href=|from\s*|[;\n]import\s*|^import\s*|url\()["']?(?:\.\/)?((?:assets\/)?[\w.-]+\.(?:js|css|woff2))/g)].map((match) => match[1]);
    for (const other of names) found.add(name === 'index.html' ? other : join('assets', other));
  }
  return found;
}

function same(one, other) {
  try {
    return readFileSync(one).equals(readFileSync(other));
  } catch {
    return false;
  }
}
