// The pages as a browser loads them: each is one HTML file with its script inside one bundle.

import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const FOLDER = new URL('../pages/', import.meta.url);

/** The pages by name. */
export const NAMES = ['ai-6', 'ai-7', 'tanstack', 'mui'];

/** Builds the pages and serves them on a port of their own, so that the server of the agents is another origin. */
export async function servePages(names = NAMES) {
  const { outputFiles } = await build({
    entryPoints: [...names.map((name) => `${name}.jsx`), 'page.css'],
    absWorkingDir: fileURLToPath(FOLDER),
    bundle: true,
    // The adapter lies outside of this folder, and imports nothing.
    nodePaths: [fileURLToPath(new URL('../node_modules', import.meta.url))],
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    minify: true,
    outdir: '/',
    write: false,
    logLevel: 'error',
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [path, contents]));
  const types = { js: 'text/javascript', css: 'text/css' };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const file = files.get(pathname);
    if (file) {
      response.setHeader('content-type', types[pathname.split('.').at(-1)]);
      return response.end(file);
    }
    response.setHeader('content-type', 'text/html');
    response.end(html(pathname.slice(1)));
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

function html(name) {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${name}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
</head>
<body>
<div id="root"></div>
<script type="module" src="/${name}.js"></script>
</body>
</html>
`;
}
