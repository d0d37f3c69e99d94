// A server and a browser for the tests of one file, and what must hold on every page: no errors, no other host.

import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { Server } from '../../clients/lib/server.mjs';
import { launch } from './browser.mjs';
import { Chat } from './chat.mjs';

/** How long a page may take for one thing; it is there so that a page that hangs fails by name. */
const PATIENCE = 60_000;

/** Sets up what the tests of a file share, and takes it down; gives the way to it. */
export function stage({ pace = '2ms' } = {}) {
  const binary = process.env.HEADWATER_BINARY ?? new URL('../../../target/debug/headwater', import.meta.url).pathname;
  const stage = { binary, server: null, browser: null, base: null, contexts: [] };
  const wrongs = [];

  before(async () => {
    stage.server = await Server.start(binary, { keepsPort: true, pace });
    stage.base = `http://127.0.0.1:${await stage.server.port}`;
    stage.browser = await launch();
  });
  after(async () => {
    await stage.browser?.close();
    await stage.server?.stop();
  });
  afterEach(async () => {
    await Promise.all(stage.contexts.splice(0).map((context) => context.close()));
    assert.deepEqual(wrongs.splice(0), [], 'what went wrong on the pages');
  });

  /** A person with a browser of their own: tabs of one person share what the page keeps. */
  stage.person = async (options = {}) => {
    const context = await stage.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    context.setDefaultTimeout(PATIENCE);
    stage.contexts.push(context);
    const tab = async (path = '/') => {
      const page = await context.newPage();
      const chat = new Chat(page, stage);
      page.on('pageerror', (error) => wrongs.push(`an error: ${error.message}`));
      page.on('console', (message) => {
        if (!['error', 'warning'].includes(message.type())) return;
        // A browser tells of each request that found no server; only a test that kills the server may see that.
        if (chat.mayLose && /net::ERR_|Failed to load resource/.test(message.text())) return;
        wrongs.push(`on the console: ${message.text()}`);
      });
      page.on('request', (request) => {
        const url = new URL(request.url());
        if (url.protocol !== 'data:' && url.origin !== stage.base) wrongs.push(`asked elsewhere: ${url}`);
      });
      await page.goto(stage.base + path);
      return chat;
    };
    return { context, tab };
  };

  /** One tab of a new person, with an agent picked. */
  stage.chat = async (agent, options) => {
    const chat = await (await stage.person(options)).tab();
    if (agent) await chat.pick(agent);
    return chat;
  };
  return stage;
}
