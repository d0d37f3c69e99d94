// Compiles Svelte's components and modules with the compiler of the page's own packages.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** A plugin of esbuild; `packages` is the folder of the page's packages. Nothing is loaded for pages without Svelte. */
export function svelte(packages) {
  const require = createRequire(`${packages}/`);
  return {
    name: 'svelte',
    setup(build) {
      build.onLoad({ filter: /\.svelte(\.js)?$/ }, async ({ path }) => {
        const { compile, compileModule } = require('svelte/compiler');
        const translate = path.endsWith('.js') ? compileModule : compile;
        const { js } = translate(await readFile(path, 'utf8'), { filename: path, generate: 'client' });
        return { contents: js.code, loader: 'js' };
      });
    },
  };
}
