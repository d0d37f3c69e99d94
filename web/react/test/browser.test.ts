// `useChat` in a real Chromium against a real server. `CHROME` names the browser.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { FreezingProxy } from '../../client/test/freezing-proxy.js';
import { binary, RealServer } from '../../client/test/real-server.js';

const chrome = process.env['CHROME'];
const server = new RealServer('10ms');
let browser: Browser;
/** The scripts of the pages by their names. */
const scripts: Record<string, string> = {};

/** A context of its own, and whatever its pages complain about. */
async function visit({ page: name = 'page', url = server.url } = {}): Promise<{ context: BrowserContext; open: (agent: string) => Promise<Page>; complaints: string[] }> {
  const context = await browser.newContext();
  const complaints: string[] = [];
  // The page is served under the address of the server, so that nothing is between them.
  await context.route('**/test.html*', (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html><body><script type="module" src="/test.js"></script>' }));
  await context.route('**/test.js', (route) => route.fulfill({ contentType: 'text/javascript', body: scripts[name] as string }));
  const open = async (agent: string) => {
    const page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      // The browser itself reports a connection that is refused.
      if (message.type() === 'error' && !/Failed to load resource|ERR_/.test(message.text())) complaints.push(message.text());
    });
    await page.goto(`${url}/test.html?agent=${agent}`);
    await page.waitForSelector('main');
    return page;
  };
  return { context, open, complaints };
}

const send = (page: Page, text: string) => page.evaluate((words) => void (globalThis as unknown as { send: (text: string) => void }).send(words), text);
const answer = (page: Page) => page.locator('li.assistant').last().innerText();
const longer = (page: Page, length: number) => page.waitForFunction((least) => (document.querySelector('li.assistant:last-child')?.textContent ?? '').length > least, length);
/** The last answer has something to say, and its run has ended. */
const finished = (page: Page, end: string) =>
  page.waitForFunction(
    (last) => document.querySelector('main[data-status="ready"][data-connection="closed"]') && document.querySelector('li.assistant:last-child')?.textContent?.includes(last),
    end,
    { timeout: 60_000 },
  );

describe('useChat in Chromium', { skip: !chrome || !binary, timeout: 300_000 }, () => {
  before(async () => {
    await server.start();
    for (const name of ['page', 'ai-sdk-page']) {
      const { outputFiles } = await build({
        entryPoints: [new URL(`./${name}.js`, import.meta.url).pathname],
        bundle: true,
        format: 'esm',
        write: false,
        define: { 'process.env.NODE_ENV': '"development"' },
      });
      scripts[name] = outputFiles[0]?.text ?? '';
    }
    const args = [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage'];
    browser = await chromium.launch({ executablePath: chrome as string, args, timeout: 120_000 });
  });
  after(async () => {
    await browser?.close();
    await server.stop();
  });

  test('reload in the middle of an answer shows the rest of it', async () => {
    const { context, open, complaints } = await visit();
    const page = await open('chat');
    await send(page, 'long');
    await longer(page, 200);
    await page.reload();
    await finished(page, '');
    assert.equal((await answer(page)).split(/\s+/).length, 400);
    assert.equal(await page.locator('li').count(), 2);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('answer continues after the browser was offline, over another connection than the one that fell silent', async () => {
    const proxy = await new FreezingProxy().start(server.url);
    const { context, open, complaints } = await visit({ url: proxy.url });
    // A day, so that the silence alone does nothing while the test runs.
    const page = await open('chat&stall=86400000');
    await send(page, 'long');
    await longer(page, 200);
    // Chromium keeps streams that are open, and so does the network, but nothing comes.
    proxy.freeze();
    await context.setOffline(true);
    // The computer sleeps for two days.
    await page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() + 2 * 86_400_000;
    });
    await context.setOffline(false);
    await finished(page, '');
    assert.equal((await answer(page)).split(/\s+/).length, 400);
    assert.deepEqual(complaints, []);
    await context.close();
    proxy.stop();
  });

  test("answer in the AI SDK's own useChat survives a kill of the server and a reload", async () => {
    const { context, open, complaints } = await visit({ page: 'ai-sdk-page' });
    const page = await open('chat#kept');
    await send(page, 'long');
    await longer(page, 200);
    await server.kill();
    await server.start();
    await longer(page, 400);
    await page.reload();
    await longer(page, 400);
    await finished(page, '');
    const words = (await answer(page)).split(/\s+/);
    assert.equal(words.length, 400);
    await context.close();

    const undisturbed = await visit({ page: 'ai-sdk-page' });
    const other = await undisturbed.open('chat#other');
    await send(other, 'long');
    await longer(other, 200);
    await finished(other, '');
    assert.deepEqual((await answer(other)).split(/\s+/), words);
    assert.deepEqual([...complaints, ...undisturbed.complaints], []);
    await undisturbed.context.close();
  });

  test('answer continues after the server was killed in the middle of it', async () => {
    const { context, open, complaints } = await visit();
    const page = await open('chat');
    await send(page, 'long');
    await longer(page, 200);
    await server.kill();
    await page.waitForSelector('main[data-connection="lost"]');
    await server.start();
    await finished(page, '');
    assert.equal((await answer(page)).split(/\s+/).length, 400);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('message that is sent offline goes out when the browser is online', async () => {
    const { context, open, complaints } = await visit();
    const page = await open('chat');
    await context.setOffline(true);
    await send(page, 'hello heron');
    await page.waitForSelector('main[data-status="submitted"] li.user');
    await context.setOffline(false);
    await finished(page, 'I remember');
    assert.equal(await page.locator('li').count(), 2, 'it was sent once');
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('replay of 400 chunks renders a few times, and React has nothing to say', async () => {
    const { context, open, complaints } = await visit();
    const page = await open('chat');
    const record = (event: object, at: number) => `event: ${Object(event).type}\ndata: ${JSON.stringify({ seq: at, message: 'm1', replay: true, event })}\n\n`;
    const deltas = Array.from({ length: 400 }, (_, at) => record({ type: 'block-delta', kind: 'text', id: `t${at >> 3}`, delta: `word${at} ` }, at + 2));
    const body = record({ type: 'run-started', run: 'r' }, 1) + deltas.join('') + record({ type: 'run-finished' }, 500);
    await context.route('**/events?*', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
    const before = await page.evaluate(() => (globalThis as unknown as { renders: number }).renders);
    await send(page, 'go');
    await finished(page, 'word399');
    const renders = (await page.evaluate(() => (globalThis as unknown as { renders: number }).renders)) - before;
    // Twice as many as happen: StrictMode renders everything twice.
    assert.ok(renders <= 24, `${renders} renders`);
    assert.equal((await answer(page)).trim().split(/\s+/).length, 400);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  for (const [how, script] of [
    ['forbidden', `Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } })`],
    ['full', `localStorage.clear(); for (let size = 1 << 22; size >= 1; size >>= 1) try { for (;;) localStorage.setItem('x' + localStorage.length, 'x'.repeat(size)); } catch {}`],
  ] as const) {
    test(`chat continues where storage is ${how}`, async () => {
      const { context, open, complaints } = await visit();
      await context.addInitScript(script);
      const page = await open('chat');
      await page.waitForSelector('main[data-error="storage"]');
      await send(page, 'hello heron');
      await finished(page, 'I remember');
      assert.deepEqual(complaints, []);
      await context.close();
    });
  }

  test('server that refuses, and one that is another, are errors that the page shows', async () => {
    const { context, open, complaints } = await visit();
    const page = await open('chat');
    for (const [status, contentType, body, code] of [
      [401, 'application/json', '{"error":"show a key","code":"auth.missing"}', 'auth.missing'],
      [200, 'text/html', '<!doctype html><title>Sign in</title>', 'http.invalid'],
    ] as const) {
      await context.route('**/v1/runs?*', (route) => route.fulfill({ status, contentType, body }));
      await send(page, 'hello');
      await page.waitForSelector(`main[data-status="error"][data-error="${code}"]`);
      await context.unroute('**/v1/runs?*');
    }
    await send(page, 'hello heron');
    await finished(page, 'I remember');
    assert.equal(await page.locator('main[data-error]').count(), 0);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('two tabs that send at once end with the same conversation', async () => {
    const { context, open, complaints } = await visit();
    const [one, two] = [await open('chat'), await open('chat')];
    await Promise.all([send(one, 'hello heron'), send(two, 'hello otter')]);
    const both = (page: Page) => page.waitForFunction(() => {
      const texts = [...document.querySelectorAll('li.assistant')].map((item) => item.textContent ?? '');
      return document.querySelector('main[data-status="ready"]') && texts.length === 2 && texts.every((text) => text.includes('I remember'));
    }, undefined, { polling: 500, timeout: 60_000 });
    await Promise.all([both(one), both(two)]);
    const shown = (page: Page) => page.locator('li').allInnerTexts();
    assert.deepEqual(await shown(one), await shown(two));
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('approval in one tab is seen in the other', async () => {
    const { context, open, complaints } = await visit();
    const one = await open('tools');
    await send(one, 'delete notes.txt');
    await one.waitForSelector('button');
    const two = await open('tools');
    await two.click('button');
    await Promise.all([finished(one, 'I deleted notes.txt'), finished(two, 'I deleted notes.txt')]);
    assert.match(await answer(one), /I deleted notes.txt/);
    assert.equal(await answer(one), await answer(two));
    assert.deepEqual(complaints, []);
    await context.close();
  });
});
