// A page elsewhere runs in the same browser, and must not be able to use a server that only this machine can reach.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { stage } from './stage.mjs';

const here = stage({ ofServer: true });
let elsewhere;
let origin;
let allowed;

before(async () => {
  elsewhere = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><link rel="icon" href="data:,"><title>elsewhere</title>');
  });
  await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  origin = `http://elsewhere.test:${elsewhere.address().port}`;
});
after(() => elsewhere.close());

/** A page elsewhere, without what holds for our own pages: this one is meant to do wrong. */
async function stranger(from = origin) {
  const context = await here.browser.newContext();
  here.contexts.push(context);
  const page = await context.newPage();
  await page.goto(from);
  return page;
}

const BODY = JSON.stringify({ agent: 'chat', session: 'stolen', input: 'hello' });

/** The runs that a page elsewhere has begun: all but those of the test that may. */
async function stolen() {
  const { runs } = await (await fetch(`${here.base}/v1/runs`)).json();
  return runs.filter(({ id }) => id !== allowed);
}

test('a page elsewhere can neither start a run nor read one by fetch', async () => {
  const page = await stranger();
  const attempts = await page.evaluate(
    async ([base, body]) => {
      const attempt = async (path, request) => {
        try {
          const response = await fetch(base + path, request);
          return `read ${response.status} ${await response.text()}`;
        } catch (error) {
          return error.message;
        }
      };
      const json = { 'content-type': 'application/json' };
      return [
        await attempt('/v1/runs', { method: 'POST', headers: json, body }),
        await attempt('/v1/runs', { method: 'POST', headers: { 'content-type': 'text/plain' }, body }),
        await attempt('/v1/ai-sdk/chat', { method: 'POST', body }),
        await attempt('/v1/runs'),
        await attempt('/v1/sessions'),
        await attempt('/'),
      ];
    },
    [here.base, BODY],
  );
  assert.deepEqual(attempts, Array(6).fill('Failed to fetch'));
  assert.deepEqual(await stolen(), []);
});

test('a page that another process of this machine serves can start a run and follow it', async () => {
  const page = await stranger(`http://localhost:${elsewhere.address().port}`);
  const seen = await page.evaluate(async (base) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ agent: 'chat', input: 'hello' });
    const started = await fetch(`${base}/v1/runs`, { method: 'POST', headers, body });
    const { run } = await started.json();
    const events = await fetch(`${base}/v1/runs/${run}/events`);
    return { run, named: started.headers.get('x-request-id'), events: await events.text() };
  }, here.base);
  allowed = seen.run;
  assert.match(seen.events, /event: run-finished/);
  assert.ok(seen.named);
  const response = await fetch(`${here.base}/v1/runs/${seen.run}`);
  assert.equal(response.status, 200);
});

test('what a page elsewhere sends without asking first is refused', async () => {
  const page = await stranger();
  // The browser keeps the refusal from the page as well: `Cross-Origin-Resource-Policy` is for requests without CORS.
  const outcome = await page.evaluate(
    ([base, body]) =>
      fetch(`${base}/v1/runs`, { method: 'POST', mode: 'no-cors', body }).then(
        () => 'sent',
        (error) => error.message,
      ),
    [here.base, BODY],
  );
  assert.equal(outcome, 'Failed to fetch');
  assert.deepEqual(await stolen(), []);
});

for (const enctype of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']) {
  test(`a form elsewhere is refused: ${enctype}`, async () => {
    const page = await stranger();
    await page.setContent(
      `<form method="post" action="${here.base}/v1/runs" enctype="${enctype}">
        <input name='{"agent":"chat","input":"hello","data":{"x":"' value='"}}'>
      </form>`,
    );
    const seen = page.waitForResponse((response) => response.url() === `${here.base}/v1/runs`);
    await page.evaluate(() => document.querySelector('form').submit());
    const response = await seen;
    assert.equal(response.status(), 403);
    assert.match(await response.text(), /origin\.refused/);
    assert.deepEqual(await stolen(), []);
  });
}

test('a form that says nothing of its page is refused by its content type', async () => {
  // Old browsers and other programs send no origin: then the kind of the body decides.
  for (const kind of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']) {
    const response = await fetch(`${here.base}/v1/runs`, { method: 'POST', headers: { 'content-type': kind }, body: BODY });
    assert.equal(response.status, 415, kind);
    assert.equal((await response.json()).code, 'body.not-json');
  }
  assert.deepEqual(await stolen(), []);
});

test('the page cannot be put into a frame elsewhere', async () => {
  const page = await stranger();
  const refused = page.waitForEvent('console', (message) => /frame-ancestors|Refused to frame|Framing/.test(message.text()));
  await page.setContent(`<iframe src="${here.base}/"></iframe>`);
  await refused;
  const text = await page.frames()[1].evaluate(() => document.body.innerText);
  assert.doesNotMatch(text, /Headwater/);
});

test('a name elsewhere that points at this machine is refused', async () => {
  const browser = here.browser;
  // As a page does that has its own name resolved to this machine.
  const context = await browser.newContext();
  here.contexts.push(context);
  const response = await context.request.get(`${here.base}/v1/runs`, { headers: { host: 'evil.test' } });
  assert.equal(response.status(), 403);
  assert.equal((await response.json()).code, 'host.refused');
});
