// A server, a browser and the pages for the tests of one file; on every page: no errors.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { after, afterEach, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from '../../browser/lib/browser.mjs';
import { Server } from '../../clients/lib/server.mjs';
import { servePages } from './bundle.mjs';
import { pageOf } from './catalog.mjs';
import { Page } from './page.mjs';
import { PATIENCE } from './patience.mjs';

/** The agents of these tests; the others are the demo's, which `serve` has only without files. */
const OWN_AGENTS = ['runs'];

/** Sets up what the tests of a file share, and takes it down. */
export async function open({ names, pace = '15ms' }) {
  const binary = process.env.HEADWATER_BINARY ?? new URL('../../../target/debug/headwater', import.meta.url).pathname;
  const close = [];
  const closeAll = async () => {
    for (const end of close.splice(0).reverse()) await end();
  };
  // One that is left running when another does not start would keep the process alive.
  const started = async (starting, end) => {
    const it = await starting;
    close.push(() => end(it));
    return it;
  };
  const agents = OWN_AGENTS.map((name) => fileURLToPath(new URL(`../agents/${name}.yaml`, import.meta.url)));
  let demo, own, browser, pages;
  try {
    demo = await started(Server.start(binary, { pace, keepsPort: true }), (server) => server.stop());
    own = await started(Server.start(binary, { agents }), (server) => server.stop());
    pages = await started(servePages(names), (pages) => pages.close());
    browser = await started(launch(), (browser) => browser.close());
  } catch (error) {
    await closeAll();
    throw error;
  }
  const faults = [];
  const baseOf = async (agent) => `http://127.0.0.1:${await (OWN_AGENTS.includes(agent) ? own : demo).port}`;
  return {
    demo,
    faults,
    /** The runs of the server that has this agent, the newest first, as `GET /v1/runs` lists them. */
    async runs(agent, session) {
      const response = await fetch(`${await baseOf(agent)}/v1/runs`);
      const { runs } = await response.json();
      return runs.filter((run) => run.agent === agent && (session === undefined || run.session === session));
    },
    /**
     * A page of a vendor, pointed at an agent. Its `conversation` is one of its own, unless the test names one; `null` leaves
     * the id to the library. Tabs of one `beside` another are in the same browser. `query` is added to the page's address.
     */
    async visit(name, agent, { conversation = randomUUID(), beside, query: more = {}, ...options } = {}) {
      const context = beside?.tab.context() ?? (await browser.newContext({ viewport: { width: 900, height: 900 }, ...options }));
      context.setDefaultTimeout(PATIENCE);
      const tab = await context.newPage();
      const page = new Page(tab, { ...pageOf(name), name }, conversation);
      tab.on('pageerror', (error) => {
        // A client may leave the loss of its connection uncaught.
        if (!page.isExpected(error.message)) faults.push(`${name}: ${error.message}`);
      });
      tab.on('console', (message) => {
        if (!['error', 'warning'].includes(message.type()) || page.isExpected(message.text())) return;
        faults.push(`${name}: on the console: ${message.text()} ${message.location().url}`);
      });
      const query = { server: await baseOf(agent), agent, ...(conversation === null ? {} : { chat: conversation }), ...more };
      await page.open(`${pages.base}${pageOf(name).path ?? `/${name}`}?${new URLSearchParams(query)}`);
      return page;
    },
    close: closeAll,
  };
}

/** The same as hooks of the test runner. */
export function stage(options) {
  const here = {};
  const pages = [];
  before(async () => Object.assign(here, await open(options)));
  after(() => here.close?.());
  afterEach(async () => {
    const closing = pages.splice(0);
    if (process.env.HEADWATER_SHOTS) await shoot(closing, process.env.HEADWATER_SHOTS);
    await Promise.all(closing.map((page) => page.close()));
    assert.deepEqual(here.faults.splice(0), [], 'faults on the pages');
  });
  return {
    async visit(...where) {
      const page = await here.visit(...where);
      pages.push(page);
      return page;
    },
    runs: (...which) => here.runs(...which),
    /** SIGKILL, and the same server again, on its port and its folder. */
    kill: () => here.demo.restart(),
  };
}

let shots = 0;

/** Keeps what each page showed at its end and what it had asked for, to find the cause of a failure. */
async function shoot(pages, folder) {
  await mkdir(folder, { recursive: true });
  for (const page of pages) {
    shots += 1;
    const path = `${folder}/${page.name}-${String(shots).padStart(2, '0')}`;
    await page.tab.screenshot({ path: `${path}.png` }).catch(() => {});
    await writeFile(`${path}.txt`, page.requests.map((entry) => JSON.stringify(entry)).join('\n'));
  }
}
