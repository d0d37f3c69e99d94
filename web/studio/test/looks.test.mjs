// Small screens, both themes, the keyboard, a key, and content that attacks the page.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { serveStudio } from './serve.mjs';
import { BINARY, stage } from './stage.mjs';

const here = stage();
const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true };

test('phone: nothing is wider than the screen, and everything is in reach', async () => {
  const studio = await here.open('table', PHONE);
  await studio.send('rivers');
  await studio.settled();
  assert.equal(await studio.overflow(), 0);
  for (const tab of ['Timeline', 'Wire', 'State', 'Connect', 'Reliability']) {
    await studio.openTab(tab);
    await studio.page.getByRole('tabpanel', { name: tab }).waitFor();
    assert.equal(await studio.overflow(), 0, tab);
  }
  await studio.press('Close the inspector');
  await studio.press('Sessions');
  await studio.page.getByRole('link', { name: 'New chat' }).click();
  await studio.page.getByRole('combobox', { name: 'Agent' }).waitFor();
});

test('theme: that of the system, or the one that is picked, also after a reload', async () => {
  const studio = await here.open('chat', { colorScheme: 'dark' });
  const back = () => studio.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await studio.input.waitFor();
  const dark = await back();
  await studio.page.getByLabel('Theme').selectOption('light');
  const light = await back();
  assert.notEqual(dark, light);
  await studio.page.reload();
  await studio.input.waitFor();
  assert.equal(await back(), light);
});

test('keyboard: a conversation without a mouse', async () => {
  const studio = await here.open('tools');
  await studio.page.waitForFunction(() => document.activeElement?.ariaLabel === 'Your message');
  await studio.page.getByRole('button', { name: 'weather in Paris' }).waitFor();
  await studio.page.keyboard.type('delete notes.txt');
  await studio.page.keyboard.press('Enter');
  await studio.ask.waitFor();
  await studio.page.getByLabel('Reason').focus();
  await studio.page.keyboard.press('Tab');
  await studio.page.keyboard.press('Enter');
  await studio.last.getByText('I deleted notes.txt.').waitFor();
  await studio.page.keyboard.press('Control+k');
  await studio.page.waitForFunction(() => location.hash.startsWith('#/new'));
});

test('every control has a name', async () => {
  const studio = await here.open('tools');
  await studio.send('everything');
  await studio.ask.nth(1).waitFor();
  for (const tab of ['Timeline', 'Wire', 'State', 'Connect', 'Reliability']) {
    await studio.openTab(tab);
    const nameless = await studio.page.evaluate(() =>
      [...document.querySelectorAll('button, input, select, textarea, a')]
        .filter((item) => !(item.ariaLabel || item.textContent.trim() || item.labels?.length || item.title))
        .map((item) => item.outerHTML),
    );
    assert.deepEqual(nameless, []);
  }
});

test('key: the page asks for it, refuses a wrong one, and keeps it in the tab', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'studio-key-'));
  const child = spawn(BINARY, ['serve', '--listen', '127.0.0.1:0', '--data', folder], { env: { ...process.env, NO_COLOR: '1', HEADWATER_API_KEYS: 'sesame-sesame-sesame' } });
  const base = await new Promise((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (text) => {
      said += text;
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (found) resolve(found[0]);
    });
    child.on('exit', () => reject(new Error(said)));
  });
  const locked = await serveStudio(() => base);
  try {
    const page = await (await here.browser.newContext()).newPage();
    await page.goto(locked.url);
    await page.getByPlaceholder('API key').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('The server does not know this key.').waitFor();
    await page.getByPlaceholder('API key').fill('sesame-sesame-sesame');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('button', { name: 'Hello' }).click();
    await page.locator('.message.answer > .markdown').first().waitFor();
    await page.reload();
    await page.locator('.message.answer').waitFor();
    assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('sesame')), false, 'the key leaves with the tab');
    await page.context().close();
  } finally {
    locked.close();
    child.kill();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

const PAYLOADS = [
  '<script>pwned()</script>',
  '<img src=x onerror=pwned()>',
  '<svg onload=pwned()>',
  '<iframe src="javascript:parent.pwned()"></iframe>',
  '<a href="javascript:pwned()">x</a> [x](javascript:pwned()) ![x](https://elsewhere.test/a.png) [x](data:text/html,<script>pwned()</script>)',
  '<details open ontoggle=pwned()>',
  '<math><mtext></mtext><mglyph><style><img src=x onerror=pwned()></style></mglyph></math>',
  '"><img src=x onerror=pwned()>',
  '</script><script>pwned()</script>',
  '<style>* { display: none }</style><form action=https://elsewhere.test><input name=x><button>y</button></form>',
  '| a | b |\n|---|---|\n| <img src=x onerror=pwned()> | `<svg onload=pwned()>` |',
  'javascript:pwned()',
];

/** Every event that the page knows, with a hostile text wherever it shows one. */
const EVENTS = [
  (x) => ({ type: 'block-delta', kind: 'text', id: 'p', delta: x }),
  (x) => ({ type: 'block-delta', kind: 'reasoning', id: x, delta: x }),
  (x) => ({ type: 'message', content: x }),
  (x) => ({ type: 'tool-input-start', call: 't', name: x }),
  (x) => ({ type: 'tool-input-delta', call: 't', delta: x }),
  (x) => ({ type: 'tool-input-available', call: x, name: x, title: x, input: { [x]: x } }),
  (x) => ({ type: 'tool-output', call: x, name: x, output: { [x]: [x] } }),
  (x) => ({ type: 'tool-output-error', call: 't', error: x }),
  (x) => ({ type: 'approval-requested', approval: x, call: 'ap', name: x, input: x }),
  (x) => ({ type: 'source-url', source: x, title: x, url: x }),
  (x) => ({ type: 'source-document', source: `d${x}`, title: x, text: x, filename: x }),
  (x) => ({ type: 'file', url: x, mediaType: x, filename: x }),
  (x) => ({ type: 'file', url: `data:text/html,${x}`, mediaType: 'image/png' }),
  (x) => ({ type: 'file', url: `data:image/svg+xml,${x}`, mediaType: 'image/svg+xml' }),
  (x) => ({ type: 'data', name: x, id: x, data: { [x]: x } }),
  (x) => ({ type: 'structured', streamId: x, dataType: x, kind: 'set', path: 'a', value: { [x]: x } }),
  (x) => ({ type: 'structured', streamId: 's', dataType: x, kind: 'final', data: { columns: [x], rows: [[x]], title: x, caption: x } }),
  (x) => ({ type: 'interrupt-requested', request: x, kind: 'choice', question: x, options: [{ id: x, label: x, description: x }] }),
  (x) => ({ type: 'attempt-retracted', attempt: x, reason: x }),
  (x) => ({ type: 'state-snapshot', state: { __proto__: null, [x]: x, constructor: { prototype: { polluted: x } } } }),
  (x) => ({ type: 'warning', message: x }),
  (x) => ({ type: 'error', message: x, code: x }),
  () => ({ type: 'nothing-known', x: 1 }),
];

test('hostile content stays text, in the chat and in the inspector', async () => {
  for (const payload of PAYLOADS) {
    const events = [{ type: 'run-started', run: 'run_1', session: 's', workflow: payload, model: payload }, { type: 'message-started', message: 'msg_run_1', role: 'assistant' }, ...EVENTS.map((make) => make(payload))];
    events.push({ type: 'run-waiting' });
    const stream = events.map((event, at) => `id: c${at}\nevent: x\ndata: ${JSON.stringify({ seq: at + 1, time: 1_790_000_000_000 + at, message: 'msg_run_1', node: payload, event })}\n\n`).join('');
    const session = { id: 's', label: payload, createdAt: '2026-01-01T00:00:00Z', updatedAt: '2026-01-01T00:00:00Z', turns: 1, lastRun: 'run_1', activeRun: 'run_1', waitingRun: null, forkedFrom: null, queued: 0 };
    const run = { id: 'run_1', agent: payload, status: 'running', session: 's', createdAt: '2026-01-01T00:00:00Z' };
    const routes = [
      [/^\/v1\/ag-ui\/info/, { version: payload, agents: { [payload]: { name: payload, description: payload } } }],
      [/^\/v1\/sessions\/s\/messages/, { messages: [{ id: 'msg_user_run_1', role: 'user', status: 'sent', parts: [{ type: 'text', id: 't', text: payload, state: 'done' }] }], before: null }],
      [/^\/v1\/sessions\/s\/queue/, { queue: [{ run: 'run_2', text: payload, message: {}, label: payload, queuedAt: '2026-01-01T00:00:00Z' }] }],
      [/^\/v1\/sessions\/s/, session],
      [/^\/v1\/sessions/, { agent: payload, sessions: [session] }],
      [/^\/v1\/runs\/run_1\/events/, stream],
      [/^\/v1\/runs\/run_1/, { run, waitsFor: [] }],
      [/^\/v1\/runs/, { runs: [run] }],
      [/^\/v1\/interrupts/, { interrupts: [{ request: payload, run: 'run_1', session: 's', node: payload, askedAt: payload, kind: 'approval', tool: { call: payload, name: payload }, input: payload }] }],
    ];
    const server = createServer((request, response) => {
      const [, body] = routes.find(([path]) => path.test(request.url)) ?? [];
      if (body === undefined) return response.writeHead(404).end('{}');
      if (typeof body !== 'string') return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      // The run goes on.
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(body);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const studio = await serveStudio(() => `http://127.0.0.1:${server.address().port}`);
    const context = await here.browser.newContext();
    try {
      const page = await context.newPage();
      const wrongs = [];
      await page.exposeFunction('pwned', () => wrongs.push('a script ran'));
      page.on('pageerror', (error) => wrongs.push(error.message));
      page.on('dialog', () => wrongs.push('a dialog'));
      page.on('request', (request) => !request.url().startsWith(studio.url) && !request.url().startsWith('data:') && wrongs.push(`asked ${request.url()}`));
      await page.goto(`${studio.url}/#/session/s/timeline`);
      await page.locator('.message.answer').waitFor();
      await page.locator('.ask').first().waitFor();
      await page.locator('.span').first().waitFor();
      for (const details of await page.locator('details').all()) await details.evaluate((item) => (item.open = true));
      for (const tab of ['State', 'Wire', 'Timeline']) {
        await page.getByRole('tab', { name: tab }).click();
        await page.getByRole('tabpanel', { name: tab }).waitFor();
      }
      await page.locator('.records li button').nth(8).click();
      await page.goto(`${studio.url}/#/inbox`);
      await page.locator('.inbox .ask').waitFor();
      const found = await page.evaluate(() => ({
        scripts: document.querySelectorAll('script:not([src])').length,
        frames: document.querySelectorAll('iframe, object, embed, style').length,
        links: [...document.querySelectorAll('a')].filter((link) => !/^(https?|mailto):$/.test(link.protocol)).length,
        polluted: 'polluted' in {},
      }));
      assert.deepEqual(found, { scripts: 0, frames: 0, links: 0, polluted: false });
      assert.deepEqual(wrongs, [], payload);
    } finally {
      await context.close();
      studio.close();
      server.closeAllConnections();
      server.close();
    }
  }
});
