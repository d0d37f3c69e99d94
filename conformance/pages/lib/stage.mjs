// A server, a browser and the pages for the tests of one file; on every page: no errors.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before } from 'node:test';
import { launch } from '../../browser/lib/browser.mjs';
import { Server } from '../../clients/lib/server.mjs';
import { servePages } from './bundle.mjs';
import { Page } from './page.mjs';

/** How long a page may take for one thing; it is there so that a page that hangs fails by name. */
const PATIENCE = 30_000;

/** Sets up what the tests of a file share, and takes it down. */
export async function open({ names, pace = '15ms' } = {}) {
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
  let server, browser, pages;
  try {
    server = await started(Server.start(binary, { pace }), (server) => server.stop());
    pages = await started(servePages(names), (pages) => pages.close());
    browser = await started(launch(), (browser) => browser.close());
  } catch (error) {
    await closeAll();
    throw error;
  }
  const base = `http://127.0.0.1:${await server.port}`;
  const faults = [];
  return {
    base,
    faults,
    /** A page of a vendor with a conversation of its own, pointed at an agent. */
    async visit(name, agent, options = {}) {
      const context = await browser.newContext({ viewport: { width: 900, height: 900 }, ...options });
      context.setDefaultTimeout(PATIENCE);
      const tab = await context.newPage();
      const page = new Page(tab, name);
      tab.on('pageerror', (error) => faults.push(`${name}: ${error.message}`));
      tab.on('console', (message) => {
        if (!['error', 'warning'].includes(message.type()) || page.expects.test(message.text())) return;
        faults.push(`${name}: on the console: ${message.text()} ${message.location().url}`);
      });
      await page.open(`${pages.base}/${name}?${new URLSearchParams({ server: base, agent, chat: randomUUID() })}`);
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
    await Promise.all(pages.splice(0).map((page) => page.close()));
    assert.deepEqual(here.faults.splice(0), [], 'faults on the pages');
  });
  return {
    async visit(...where) {
      const page = await here.visit(...where);
      pages.push(page);
      return page;
    },
  };
}
