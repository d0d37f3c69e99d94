// A server with its studio and a browser for the tests of one file; on every page: no errors, no other host.

import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { Server } from '../../../conformance/clients/lib/server.mjs';
import { serveStudio } from './serve.mjs';

const PATIENCE = 30_000;
export const BINARY = process.env.HEADWATER_BINARY ?? fileURLToPath(new URL('../../../target/debug/headwater', import.meta.url));

export function launch() {
  const executablePath = process.env.CHROME || '/usr/bin/chromium';
  // In a container Chromium is root's and has no sandbox, and little shared memory.
  const args = [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage'];
  // A page elsewhere, for the tests that need one: its name is not one of this machine.
  args.push('--host-resolver-rules=MAP elsewhere.test 127.0.0.1');
  return chromium.launch({ executablePath, args, timeout: 120_000 });
}

/**
 * Sets up what the tests of a file share. With `STUDIO_DIST` the studio is that build, and not the one in the server, unless the
 * test is of the server itself.
 */
export function stage({ pace = '2ms', agents, settings, ofServer = false } = {}) {
  const stage = { server: null, studio: null, browser: null, base: null, contexts: [] };
  const wrongs = [];
  before(async () => {
    stage.server = await Server.start(BINARY, { keepsPort: true, pace, agents, settings });
    stage.base = `http://127.0.0.1:${await stage.server.port}`;
    if (process.env.STUDIO_DIST && !ofServer) {
      const target = stage.base;
      stage.studio = await serveStudio(() => target);
      stage.base = stage.studio.url;
    }
    stage.browser = await launch();
  });
  after(async () => {
    await stage.browser?.close();
    stage.studio?.close();
    await stage.server?.stop();
  });
  afterEach(async () => {
    await Promise.all(stage.contexts.splice(0).map((context) => context.close()));
    assert.deepEqual(wrongs.splice(0), [], 'what went wrong on the pages');
  });

  /** A person with a browser of their own. */
  stage.person = async (options = {}) => {
    const context = await stage.browser.newContext({ viewport: { width: 1360, height: 860 }, ...options });
    context.setDefaultTimeout(PATIENCE);
    stage.contexts.push(context);
    return {
      context,
      tab: async (hash = '') => {
        const page = await context.newPage();
        const studio = new Studio(page, stage);
        page.on('pageerror', (error) => wrongs.push(`an error: ${error.message}`));
        page.on('console', (message) => {
          if (!['error', 'warning'].includes(message.type())) return;
          if (studio.mayFail.test(message.text())) return;
          wrongs.push(`on the console: ${message.text()}`);
        });
        page.on('request', (request) => {
          const url = new URL(request.url());
          if (url.protocol !== 'data:' && url.origin !== stage.base) wrongs.push(`asked elsewhere: ${url}`);
        });
        await page.goto(`${stage.base}/${hash}`);
        return studio;
      },
    };
  };

  /** One tab of a new person, with an agent picked. */
  stage.open = async (agent, options) => (await stage.person(options)).tab(agent ? `#/new/${agent}` : '');
  return stage;
}

/** The page as a person uses it. */
export class Studio {
  /** Messages of the browser that are no fault: a session that nothing was sent to is asked for once, a server with keys before one is given. */
  mayFail = /status of 40[14]/;

  constructor(page, stage) {
    this.page = page;
    this.stage = stage;
  }

  get input() {
    return this.page.getByLabel('Your message');
  }

  get answers() {
    return this.page.locator('.message.answer');
  }

  get last() {
    return this.answers.last();
  }

  get ask() {
    return this.page.locator('.ask');
  }

  get session() {
    return decodeURIComponent(new URL(this.page.url()).hash.split('/')[2] ?? '');
  }

  async send(text) {
    await this.input.fill(text);
    await this.input.press('Enter');
  }

  async press(name, within = this.page) {
    await within.getByRole('button', { name, exact: true }).first().click();
  }

  async openTab(name) {
    if (!(await this.page.locator('.inspector').isVisible())) await this.press('Inspector');
    await this.page.getByRole('tab', { name, exact: true }).click();
  }

  /** Until nothing is active, with so many answers. */
  async settled(answers = 1) {
    await this.page.waitForFunction(
      (answers) => document.querySelectorAll('.message.answer').length === answers && document.querySelector('[role=log]')?.getAttribute('aria-busy') === 'false',
      answers,
    );
  }

  async textOf(at = -1) {
    const texts = await this.answers.nth(at).locator(':scope > .markdown').allInnerTexts();
    return texts.join(' ').replace(/\s+/g, ' ').trim();
  }

  overflow() {
    return this.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  }
}

export const getJson = async (url) => (await fetch(url)).json();
