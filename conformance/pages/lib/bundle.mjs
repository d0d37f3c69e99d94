// The pages as a browser loads them: each is one HTML file with its script inside one bundle.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { pageOf } from './catalog.mjs';
import { svelte } from './svelte.mjs';

const ROOT = new URL('../', import.meta.url);
const EXAMPLES = new URL('../../../examples/web/', import.meta.url);
/** Our own package, from its sources, so that tests never use an old build. */
const ADAPTER = fileURLToPath(new URL('../../../web/mui/src/index.ts', import.meta.url));

/** Vue asks for these to be said, and warns otherwise. */
const DEFINE = {
  'process.env.NODE_ENV': '"production"',
  __VUE_OPTIONS_API__: 'false',
  __VUE_PROD_DEVTOOLS__: 'false',
  __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
};

const TYPES = { js: 'text/javascript', jsx: 'text/javascript', css: 'text/css' };

/** Builds the pages and serves them on a port of their own, so that the server of the agents is another origin. */
export async function servePages(names) {
  const files = new Map();
  for (const folder of new Set(names.map((name) => pageOf(name).folder))) {
    const pages = names.map(pageOf).filter((page) => page.folder === folder && !page.path);
    for (const { path, contents } of await bundle(folder, pages.map(({ file }) => file))) files.set(path, contents);
  }
  for (const page of names.map(pageOf).filter(({ path }) => path)) await addExample(page, files);
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const file = files.get(pathname);
    response.setHeader('content-type', (file && TYPES[pathname.split('.').at(-1)]) ?? 'text/html');
    response.end(file ?? html(pathname.slice(1), files));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    base: `http://localhost:${server.address().port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** An example has an HTML file of its own. Vite would build its script; one without a build is served as it is. */
async function addExample({ path, folder, file }, files) {
  const read = (name) => readFile(new URL(name, EXAMPLES), 'utf8');
  const [, , example, page] = path.split('/');
  const index = await read(`${example}/${page || 'index.html'}`);
  if (file.endsWith('.js')) {
    files.set(path, index);
    for (const name of ['main.js', 'markdown.js']) files.set(`${path}${name}`, await read(`plain/${name}`));
    for (const name of ['settings.js', 'style.css']) files.set(`/examples/shared/${name}`, await read(`shared/${name}`));
    return;
  }
  const [name, place] = [basename(file, '.jsx'), path.slice(0, path.lastIndexOf('/') + 1)];
  let head = '</head>';
  for (const { path: built, contents } of await bundle(folder, [file])) {
    if (built === `/${name}.js`) files.set(`${place}${name}.jsx`, contents);
    if (built !== `/${name}.css`) continue;
    files.set(`${place}${name}.css`, contents);
    head = `  <link rel="stylesheet" href="./${name}.css">\n  </head>`;
  }
  files.set(path, index.replace('</head>', head));
}

/** The examples' Markdown comes from the packages of this folder: in `more/`, other versions of it belong to the vendors. */
const exampleMarkdown = {
  name: 'example-markdown',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^(react-markdown|remark-gfm)$/ }, ({ path, importer, kind, pluginData }) => {
      if (pluginData === 'here' || !importer.startsWith(fileURLToPath(EXAMPLES))) return undefined;
      return resolve(path, { kind, resolveDir: fileURLToPath(ROOT), pluginData: 'here' });
    });
  },
};

/** The scripts of pages that share their packages: `folder` has them, and `pages/` in it the pages. */
async function bundle(folder, entries) {
  const packages = fileURLToPath(new URL(`${folder}node_modules`, ROOT));
  const { outputFiles } = await build({
    entryPoints: [...entries, fileURLToPath(new URL('pages/page.css', ROOT))],
    entryNames: '[name]',
    absWorkingDir: fileURLToPath(new URL(`${folder}pages`, ROOT)),
    bundle: true,
    // The cards and the examples lie outside of this folder, and a page must not have two Reacts.
    nodePaths: [packages],
    alias: { react: `${packages}/react`, 'react-dom': `${packages}/react-dom`, '@headwater/mui': ADAPTER },
    // Svelte's packages have nothing under the usual ones.
    conditions: ['svelte', 'module'],
    plugins: [svelte(packages), exampleMarkdown],
    format: 'esm',
    jsx: 'automatic',
    define: DEFINE,
    loader: { '.ttf': 'dataurl', '.woff': 'dataurl', '.woff2': 'dataurl' },
    minify: true,
    outdir: '/',
    write: false,
    logLevel: 'error',
  });
  return outputFiles;
}

/** A page with styles of its vendor's has them in a file of its name. */
function html(name, files) {
  const styles = ['/page.css', `/${name}.css`].filter((path) => files.has(path));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${name}</title>
<link rel="icon" href="data:,">
${styles.map((path) => `<link rel="stylesheet" href="${path}">`).join('\n')}
</head>
<body>
<div id="root"></div>
<script type="module" src="/${name}.js"></script>
</body>
</html>
`;
}
