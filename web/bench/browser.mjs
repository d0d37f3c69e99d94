// What a page does with an answer in Chromium: renders and state writes per 1,000 deltas and per re-attach, and the heap.

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { begin } from './server.mjs';

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const PAGES = file('../../conformance/pages/node_modules');
const VENDORS = file('../../conformance/vendors/node_modules');
const RUNS = 10;
const PATIENCE = 60_000;

/** The hooks. AG-UI has nothing that attaches to a run. */
export const HOOKS = [
  { name: 'headwater', package: '@headwater/react', reattaches: true },
  { name: 'ai-sdk', package: '@ai-sdk/react', reattaches: true },
  { name: 'tanstack', package: '@tanstack/ai-react', reattaches: true },
  { name: 'mui', package: '@mui/x-chat-headless', reattaches: true },
  { name: 'ag-ui', package: '@ag-ui/client', reattaches: false },
];

/** One React for all of them, whose writes are counted. */
const counted = (subject) => ({
  name: 'counted',
  setup(builder) {
    builder.onResolve({ filter: /^subject$/ }, () => ({ path: file(`hooks/${subject}.jsx`) }));
    builder.onResolve({ filter: /^react$/ }, () => ({ path: file('react-counted.mjs') }));
    builder.onResolve({ filter: /^react-itself$/ }, () => ({ path: `${PAGES}/react/index.js` }));
    builder.onResolve({ filter: /^react-dom\/client$/ }, () => ({ path: `${PAGES}/react-dom/client.js` }));
  },
});

async function bundle(subject) {
  const { outputFiles } = await build({
    entryPoints: [file('page.jsx')],
    bundle: true,
    minify: true,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    nodePaths: [PAGES, VENDORS],
    plugins: [counted(subject)],
    write: false,
    logLevel: 'error',
  });
  return outputFiles[0].text;
}

/** Measures each hook in a page of its own. */
export async function measureHooks(url, { deltas }) {
  const args = [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage'];
  const browser = await chromium.launch({ executablePath: process.env.CHROME ?? '/usr/bin/chromium', args, timeout: 120_000 });
  const rows = [];
  try {
    for (const hook of HOOKS) rows.push({ ...hook, ...(await measureHook(browser, url, hook, deltas)) });
  } finally {
    await browser.close();
  }
  return rows;
}

async function measureHook(browser, url, { name, reattaches }, deltas) {
  const script = await bundle(name);
  const context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE);
  // The page has the address of the server, so that nothing is between them.
  await context.route('**/bench.html*', (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html><body><script type="module" src="/bench.js"></script>' }));
  await context.route('**/bench.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }));
  const open = async (agent, session = crypto.randomUUID()) => {
    const page = await context.newPage();
    await page.goto(`${url}/bench.html?${new URLSearchParams({ agent, session })}`);
    await page.waitForSelector('main', { state: 'attached' });
    return page;
  };
  const read = (page) => page.evaluate(() => ({ ...globalThis.counts }));
  const answer = async (page) => {
    const before = await page.evaluate(() => Number(document.querySelector('main').dataset.length));
    await page.evaluate(() => void globalThis.send('go'));
    await page.waitForFunction((length) => {
      const { busy, length: now } = document.querySelector('main').dataset;
      return busy === 'false' && Number(now) > length;
    }, before + 100);
  };

  const live = await open('deltas');
  await live.waitForTimeout(500);
  const before = await read(live);
  await answer(live);
  const after = await read(live);
  const per = (field) => ((after[field] - before[field]) * 1000) / deltas;
  const row = { renders: per('renders'), writes: per('writes'), mostInTask: after.mostInTask };
  await live.close();

  if (reattaches) {
    const { session } = await begin(url, 'tools');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const attached = await open('tools', session);
    await attached.waitForFunction(() => document.querySelector('main').dataset.outputs === '20');
    await attached.waitForTimeout(500);
    const { renders, writes, mostInTask } = await read(attached);
    row.reattach = { renders, writes, mostInTask };
    await attached.close();
  }

  const long = await open('short');
  const heap = async () => {
    const devtools = await context.newCDPSession(long);
    await devtools.send('HeapProfiler.collectGarbage');
    const { usedSize } = await devtools.send('Runtime.getHeapUsage');
    return usedSize;
  };
  await answer(long);
  const first = await heap();
  for (let run = 0; run < RUNS; run += 1) await answer(long);
  row.heap = { total: await heap(), first };
  await context.close();
  return row;
}
