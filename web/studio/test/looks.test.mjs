// Small screens, both themes, the keyboard, and a key.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
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
    if (tab !== 'Timeline') continue;
    await studio.page.locator('.records li button').nth(5).click();
    await studio.page.locator('.became .frame').first().waitFor();
    assert.equal(await studio.overflow(), 0, 'a record');
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
  try {
    const page = await (await here.browser.newContext()).newPage();
    await page.goto(base);
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
    child.kill();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});
