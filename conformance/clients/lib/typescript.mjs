// Imports a file of our packages under `web`, whose sources are TypeScript, without building them first.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const WEB = new URL('../../../web/', import.meta.url);
const loaded = new Map();

/** The exports of a file, by its path in `web`. */
export function loadTypeScript(path) {
  if (!loaded.has(path)) loaded.set(path, bundle(path));
  return loaded.get(path);
}

async function bundle(path) {
  const { build } = createRequire(new URL('package.json', WEB))('esbuild');
  const { outputFiles } = await build({ entryPoints: [fileURLToPath(new URL(path, WEB))], bundle: true, format: 'esm', write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
