// Content that tries to run a script in the page, to load something from elsewhere, or to change what all objects have. It
// comes from a server that is made for it, and is shown by the studio with the policy of the real one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fakeServer, framesOf } from './fake-server.mjs';
import { serveStudio } from './serve.mjs';
import { launch } from './stage.mjs';

const PAYLOADS = [
  '<script>pwned()</script>',
  '<img src=x onerror=pwned()>',
  '<svg onload=pwned()>',
  '<svg><script>pwned()</script></svg>',
  '<iframe src="javascript:parent.pwned()"></iframe>',
  '<iframe srcdoc="<script>parent.pwned()</script>"></iframe>',
  '<a href="javascript:pwned()">x</a> [x](javascript:pwned()) ![x](https://elsewhere.test/a.png) [x](data:text/html,<script>pwned()</script>)',
  '<details open ontoggle=pwned()>',
  '<math><mtext></mtext><mglyph><style><img src=x onerror=pwned()></style></mglyph></math>',
  '"><img src=x onerror=pwned()>',
  "'-pwned()-'",
  '</script><script>pwned()</script>',
  '</style><script>pwned()</script>',
  '<style>* { display: none }</style><form action=https://elsewhere.test><input name=x><button>y</button></form>',
  'javascript:pwned()',
  'data:text/html,<script>pwned()</script>',
  '{{constructor.constructor("pwned()")()}}',
  '`<img src=x onerror=pwned()>` **<img src=x onerror=pwned()>**',
  '| a | b |\n|---|---|\n| <img src=x onerror=pwned()> | `<svg onload=pwned()>` |',
  '```js\n</code><img src=x onerror=pwned()><script>pwned()</script>\n```',
];

/** Every event that the page knows, with a hostile text wherever it shows one. */
const EVENTS = [
  (x) => ({ type: 'block-delta', kind: 'text', id: 'p', delta: x }),
  (x) => ({ type: 'block-delta', kind: 'text', id: x, delta: 'x' }),
  (x) => ({ type: 'block-delta', kind: x, id: 'q', delta: `> ${x}\n- ${x}\n` }),
  (x) => ({ type: 'block-delta', kind: 'reasoning', id: x, delta: x }),
  (x) => ({ type: 'message', content: x }),
  (x) => ({ type: 'tool-input-start', call: 't', name: x }),
  (x) => ({ type: 'tool-input-delta', call: 't', delta: x }),
  (x) => ({ type: 'tool-input-available', call: x, name: x, title: x, input: { [x]: x } }),
  (x) => ({ type: 'tool-input-available', call: 'u', name: x, input: x, executor: 'client' }),
  (x) => ({ type: 'tool-input-error', call: 'v', name: x, input: x, error: x }),
  (x) => ({ type: 'approval-requested', approval: x, call: 'ap', name: x, input: x }),
  (x) => ({ type: 'approval-answered', approval: `b${x}`, call: 'ap', approved: x }),
  (x) => ({ type: 'tool-output', call: x, name: x, output: x }),
  (x) => ({ type: 'tool-output', call: x, name: x, output: { [x]: [x] } }),
  (x) => ({ type: 'tool-output-error', call: 't', name: x, error: x }),
  (x) => ({ type: 'tool-denied', call: 'w', name: x, reason: x }),
  (x) => ({ type: 'source-url', source: x, title: x, url: x }),
  (x) => ({ type: 'source-url', source: `u${x}`, url: `https://x.test/${x}` }),
  (x) => ({ type: 'source-document', source: `d${x}`, title: x, text: x, filename: x }),
  (x) => ({ type: 'file', url: x, mediaType: x, filename: x }),
  (x) => ({ type: 'file', url: `data:text/html,${x}`, mediaType: `image/${x}` }),
  (x) => ({ type: 'file', url: `data:image/svg+xml,${x}`, mediaType: 'image/svg+xml' }),
  (x) => ({ type: 'data', name: x, id: x, data: { [x]: x } }),
  (x) => ({ type: 'structured', streamId: x, dataType: x, kind: 'set', path: 'a', value: { [x]: x } }),
  (x) => ({ type: 'structured', streamId: 's1', dataType: x, kind: 'set', path: x, value: x }),
  (x) => ({ type: 'structured', streamId: 's2', dataType: x, kind: 'append', path: 'list', items: [x, { [x]: x }] }),
  (x) => ({ type: 'structured', streamId: 's3', dataType: x, kind: 'text-delta', path: x, delta: x }),
  (x) => ({ type: 'structured', streamId: 's', dataType: x, kind: 'final', data: { columns: [x], rows: [[x]], title: x, caption: x } }),
  (x) => ({ type: 'interrupt-requested', request: x, kind: 'choice', question: x, options: [{ id: x, label: x, description: x }] }),
  (x) => ({ type: 'interrupt-requested', request: `m${x}`, kind: 'multi-choice', multiple: true, question: x, options: [{ id: x, label: x }] }),
  (x) => ({ type: 'interrupt-answered', request: `a${x}`, answer: { [x]: x } }),
  (x) => ({ type: 'attempt-retracted', attempt: x, reason: x }),
  (x) => ({ type: 'state-snapshot', state: { __proto__: null, [x]: x, constructor: { prototype: { polluted: x } } } }),
  (x) => ({ type: 'warning', message: x }),
  (x) => ({ type: 'error', message: x, code: x }),
  (x) => ({ type: x, delta: x }),
];

/** What a run may wait for. */
const WAITS = [
  (x) => ({ kind: 'approval', tool: { name: x, call: x }, input: { [x]: x } }),
  (x) => ({ kind: 'client-tool', tool: { name: x, call: x } }),
  (x) => ({ kind: 'question', interrupt: { kind: 'text', question: x } }),
  (x) => ({ kind: 'question', interrupt: { kind: 'choice', question: x, options: [{ id: x, label: x, description: x }] } }),
  (x) => ({ kind: 'question', interrupt: { kind: 'multi-choice', multiple: true, question: x, options: [{ id: x, label: x }] } }),
];

/** Paths that lead out of an object. */
const PATHS = [
  '__proto__.polluted', '__proto__.__proto__.polluted', 'constructor.prototype.polluted', 'a.__proto__.polluted', 'prototype.polluted',
  'toString.polluted', 'a.constructor.prototype.polluted', 'hasOwnProperty.polluted', '__proto__', 'constructor', 'valueOf.call.polluted',
];

const UPDATES = [{ kind: 'set', value: 'x' }, { kind: 'append', items: ['x'] }, { kind: 'text-delta', delta: 'x' }];

let browser;
let cases = 0;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** Opens a session with these events, visits every view, and fails if anything ran, loaded or leaked. */
async function visit(text, middle, what) {
  const events = [{ type: 'run-started', run: 'run_1', session: 's', workflow: text, model: text }, { type: 'message-started', message: 'msg_run_1', role: 'assistant' }, ...middle, { type: 'run-waiting' }];
  const interrupts = WAITS.map((make, at) => ({ request: `${at}${text}`, run: 'run_1', session: 's', node: text, askedAt: text, ...make(text) }));
  const stream = (response) => void response.write(framesOf(events, { node: text }));
  const server = await fakeServer({ text, stream, interrupts });
  const studio = await serveStudio(() => server.url);
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
  try {
    const page = await context.newPage();
    const wrongs = [];
    await page.exposeFunction('pwned', () => wrongs.push('a script ran'));
    page.on('pageerror', (error) => wrongs.push(error.message));
    page.on('dialog', () => wrongs.push('a dialog'));
    page.on('request', (request) => !request.url().startsWith(studio.url) && !request.url().startsWith('data:') && wrongs.push(`asked ${request.url()}`));
    await page.goto(`${studio.url}/#/session/s/timeline`);
    await page.locator('.message.answer').waitFor();
    await page.locator('.span').first().waitFor();
    for (const details of await page.locator('details').all()) await details.evaluate((item) => (item.open = true));
    await harmless(page, what);
    for (const tab of ['State', 'Wire', 'Timeline']) {
      await page.getByRole('tab', { name: tab }).click();
      await page.getByRole('tabpanel', { name: tab }).waitFor();
      await harmless(page, `${what}, ${tab}`);
    }
    const records = page.locator('.records li button');
    await records.nth(Math.min(8, (await records.count()) - 1)).click();
    await page.locator('.record').waitFor();
    await harmless(page, `${what}, a record`);
    await page.goto(`${studio.url}/#/inbox`);
    await page.locator('.inbox .ask').nth(WAITS.length - 1).waitFor();
    await harmless(page, `${what}, the inbox`);
    assert.deepEqual(wrongs, [], what);
  } finally {
    await context.close();
    studio.close();
    server.close();
  }
}

async function harmless(page, what) {
  const found = await page.evaluate(() => {
    const parts = [...document.querySelectorAll('#app, #app *')];
    const attributes = parts.flatMap((element) => [...element.attributes]);
    const places = [Object, Function, Array, String].flatMap((type) => [type, type.prototype, type.prototype.toString, type.prototype.valueOf, type.prototype.hasOwnProperty]);
    return {
      elements: document.querySelectorAll('#app script, iframe, object, embed, style, link:not(head > *), base, meta:not(head > *), math, form[action]').length,
      handlers: attributes.filter(({ name }) => name.startsWith('on') || name === 'srcdoc').length,
      links: [...document.querySelectorAll('a[href]')].filter((link) => !/^(https?|mailto|blob):$/.test(link.protocol)).length,
      pictures: [...document.querySelectorAll('img')].filter((image) => !image.src.startsWith('data:image/')).length,
      polluted: places.filter((place) => place && 'polluted' in place).length,
    };
  });
  assert.deepEqual(found, { elements: 0, handlers: 0, links: 0, pictures: 0, polluted: 0 }, what);
}

for (const payload of PAYLOADS) {
  test(`hostile content stays text: ${payload.replaceAll(/\s+/g, ' ')}`, async () => {
    await visit(payload, EVENTS.map((make) => make(payload)), payload);
    cases += EVENTS.length + WAITS.length;
  });
}

test('paths of structured objects change nothing but the object', async () => {
  const updates = PATHS.flatMap((path) => UPDATES.map((update, at) => ({ type: 'structured', streamId: `${path} ${at}`, dataType: 't', path, ...update })));
  await visit('paths', updates, 'paths');
  cases += updates.length;
});

after(() => console.log(`# figure: hostile page events | ${cases.toLocaleString('en')} | 0 through`));
