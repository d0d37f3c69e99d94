// Takes the pictures in docs/images/studio, of a real server with the demo agents.

import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Server } from '../../conformance/clients/lib/server.mjs';
import { serveStudio } from './test/serve.mjs';
import { BINARY, launch } from './test/stage.mjs';

const OUT = process.env.SHOTS ?? fileURLToPath(new URL('../../docs/images/studio/', import.meta.url));
const DESKTOP = { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1.5 };
// Much small text compresses badly.
const DENSE = { viewport: { width: 1440, height: 820 }, deviceScaleFactor: 1 };
const PHONE = { viewport: { width: 390, height: 800 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

await mkdir(OUT, { recursive: true });
const server = await Server.start(BINARY, { pace: '6ms' });
const target = `http://127.0.0.1:${await server.port}`;
// With `STUDIO_DIST` the pictures are of that build, and not of the one in the server.
const studio = process.env.STUDIO_DIST ? await serveStudio(() => target) : { url: target, close: () => {} };
const browser = await launch();

/** Sends a message, and waits until its run ends or waits. */
async function said(agent, input, session) {
  const body = JSON.stringify({ agent, input, session });
  const { run } = await (await fetch(`${target}/v1/runs`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json();
  await (await fetch(`${target}/v1/runs/${run}/events`)).text();
  return run;
}

async function open(hash, options = DESKTOP) {
  const context = await browser.newContext({ colorScheme: 'light', ...options });
  const page = await context.newPage();
  await page.goto(`${studio.url}/${hash}`);
  return page;
}

async function shoot(page, name) {
  await page.mouse.move(0, 0);
  // The rail is a moment behind.
  await page.waitForTimeout(1500);
  await page.screenshot({ path: `${OUT}/${name}.png` });
  await page.context().close();
  console.log(`${name}.png`);
}

try {
  await said('flaky', 'Are you there?', 'flaky');
  await said('table', 'planets', 'table');
  await said('email', 'Our public beta', 'email');
  await said('support', 'My order 1042 arrived broken', 'support');
  await said('travel', '5 days in Kyoto in autumn', 'kyoto');
  await said('travel', 'A relaxed weekend in Copenhagen', 'copenhagen');
  await said('research', 'How do heat pumps work in winter?', 'research');

  let page = await open('#/session/research');
  await page.locator('.sources').waitFor();
  await page.locator('.log').evaluate((log) => (log.scrollTop = 0));
  await shoot(page, 'chat');

  page = await open('#/new/tools/timeline');
  await page.getByRole('button', { name: 'everything' }).click();
  await page.locator('.ask').nth(1).waitFor();
  await page.waitForTimeout(900);
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.waitForTimeout(500);
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  await page.getByText('You are in Oslo').first().waitFor();
  await page.locator('.span.model').nth(1).waitFor();
  const tools = decodeURIComponent(page.url().split('/session/')[1].split('/')[0]);
  await shoot(page, 'timeline');

  page = await open('#/session/kyoto/timeline', DENSE);
  await page.locator('.graph-node.current').waitFor();
  await shoot(page, 'graph');

  page = await open(`#/session/${tools}/wire`, DENSE);
  await page.locator('.dialect').nth(2).locator('li').nth(5).waitFor();
  await page.locator('.dialect').first().locator('li', { hasText: 'tool-input-available' }).nth(1).click();
  for (const at of [0, 1, 2]) await page.locator('.dialect').nth(at).locator('li.now').waitFor();
  await shoot(page, 'wire');

  page = await open(`#/session/${tools}/timeline`, DENSE);
  await page.waitForTimeout(1000);
  await page.locator('.body').evaluate((body) => body.scrollBy(0, 500));
  await page.locator('.records li button', { hasText: 'tool-output' }).first().click();
  await page.locator('.became .frame').nth(4).waitFor();
  await page.locator('.record').evaluate((record) => record.closest('.body').scrollBy(0, record.getBoundingClientRect().top - 260));
  await shoot(page, 'record');

  page = await open('#/session/email/state', DENSE);
  await page.locator('.status.waiting').waitFor();
  await page.getByRole('button', { name: 'Revise', exact: true }).click();
  await page.getByText('checkpoint of turn 2', { exact: true }).waitFor();
  // In the middle of the second draft.
  const cursor = page.getByRole('slider');
  await cursor.fill(String(Number(await cursor.getAttribute('max')) - 8));
  await cursor.blur();
  await page.locator('.state-view .key', { hasText: 'draft' }).waitFor();
  await shoot(page, 'state');

  page = await open('#/inbox');
  await page.locator('.inbox .ask').nth(1).waitFor();
  await shoot(page, 'inbox');

  page = await open('#/session/flaky/connect');
  await page.locator('.snippet').first().waitFor();
  await shoot(page, 'connect');

  page = await open('#/new/chat/reliability', DENSE);
  await page.getByRole('button', { name: 'long', exact: true }).click();
  for (let cut = 0; cut < 3; cut += 1) {
    await page.waitForTimeout(300);
    await page.getByRole('button', { name: 'Cut the connection' }).click();
  }
  await page.getByText('Compared with a fresh read').waitFor();
  await shoot(page, 'reliability');

  page = await open('#/session/support', { ...DESKTOP, colorScheme: 'dark' });
  await page.locator('.ask').waitFor();
  await page.getByRole('button', { name: 'Inspector' }).click();
  await page.locator('.span').first().waitFor();
  await shoot(page, 'dark');

  page = await open('#/session/copenhagen', PHONE);
  await page.locator('.structured').waitFor();
  await shoot(page, 'phone');

  page = await open('#/session/copenhagen/timeline', PHONE);
  await page.getByText('4 of 5 nodes visited').waitFor();
  await shoot(page, 'phone-timeline');
} finally {
  await browser.close();
  studio.close();
  await server.stop();
}
