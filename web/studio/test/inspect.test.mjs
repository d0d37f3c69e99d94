// The rail, the inbox and the inspector.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getJson, stage } from './stage.mjs';

const here = stage();

/** A conversation that has ended. */
async function ended(agent, text) {
  const studio = await here.open(agent);
  await studio.send(text);
  await studio.settled();
  return studio;
}

test('rail: sessions with title, agent and state; a URL for each', async () => {
  const studio = await ended('table', 'planets');
  const item = studio.page.locator('.sessions li', { hasText: 'planets' });
  await item.getByText('table').waitFor();
  const url = studio.page.url();
  await studio.page.getByRole('link', { name: 'New chat' }).click();
  await studio.page.getByRole('combobox', { name: 'Agent' }).waitFor();
  await item.getByRole('link').click();
  await studio.last.locator('.structured').waitFor();
  assert.equal(studio.page.url(), url);
});

test('rail: a session is deleted after a question', async () => {
  const studio = await ended('flaky', 'delete me');
  studio.page.on('dialog', (dialog) => dialog.accept());
  await studio.page.locator('.sessions li', { hasText: 'delete me' }).hover();
  await studio.press('Delete delete me');
  await studio.page.locator('.sessions li', { hasText: 'delete me' }).waitFor({ state: 'detached' });
  assert.match(studio.page.url(), /#\/new/);
});

test('inbox: what waits in any run is answered there', async () => {
  const studio = await here.open('tools');
  await studio.send('delete notes.txt');
  await studio.ask.waitFor();
  const { session } = studio;
  await studio.page.getByRole('link', { name: /Waits for you/ }).click();
  const card = studio.page.locator('.inbox .waiting', { hasText: 'delete notes.txt' }).first();
  await card.getByRole('button', { name: 'Refuse' }).click();
  await studio.page.getByText('Nothing waits').waitFor();
  await studio.page.locator('.sessions li', { hasText: 'delete notes.txt' }).first().getByRole('link').click();
  await studio.last.locator('details.tool.bad').waitFor();
  assert.equal(studio.session, session);
});

test('timeline: nodes, attempts, tools and waits; a record opens and has a URL', async () => {
  const studio = await here.open('tools');
  await studio.send('everything');
  await studio.ask.nth(1).waitFor();
  await studio.press('Allow');
  await studio.press('Answer');
  await studio.last.getByText('You are in Oslo').waitFor();
  await studio.settled();
  await studio.openTab('Timeline');
  const spans = studio.page.getByRole('list', { name: 'Timeline' });
  for (const kind of ['run', 'node', 'model', 'tool', 'wait']) await spans.locator(`.span.${kind}`).first().waitFor();
  assert.equal(await spans.locator('.span.tool').count(), 4);
  assert.equal(await spans.locator('.span.model').count(), 2);
  await spans.locator('.span.wait').first().click();
  await studio.page.getByText('Records of approval').waitFor();
  await studio.page.locator('.records li button', { hasText: 'approval-requested' }).click();
  await studio.page.locator('.record').getByText('"delete_file"').waitFor();
  const url = studio.page.url();
  assert.match(url, /\/timeline\/run_\w+\/\d+$/);
  await studio.page.goto('about:blank');
  await studio.page.goto(url);
  await studio.page.locator('.record').getByText('"delete_file"').waitFor();
});

test('timeline: a failed attempt and its reason', async () => {
  const studio = await ended('flaky', 'hello');
  await studio.openTab('Timeline');
  await studio.page.locator('.span.model.bad').waitFor();
  await studio.page.locator('.why', { hasText: 'model.cut' }).waitFor();
});

test('wire: the same run in every dialect, as raw frames', async () => {
  const studio = await ended('chat', 'Hello');
  await studio.page.evaluate(() => localStorage.setItem('headwater studio dialects', ''));
  await studio.openTab('Wire');
  const run = (await getJson(`${here.base}/v1/sessions/${studio.session}`)).lastRun;
  for (const dialect of ['native', 'ai-sdk', 'ag-ui', 'mui', 'agents', 'kortyx', 'tanstack', 'responses']) {
    await studio.press(dialect);
    const column = studio.page.getByRole('region', { name: dialect, exact: true });
    await column.locator('li').nth(2).waitFor();
    const raw = await (await fetch(`${here.base}/v1/runs/${run}/events?dialect=${dialect}`)).text();
    const frames = raw.split('\n\n').filter((frame) => frame.trim());
    await studio.page.waitForFunction(([label, count]) => document.querySelectorAll(`.dialect[aria-label="${label}"] li`).length === count, [dialect, frames.length]);
    const shown = await column.locator('li').first().textContent();
    assert.equal(shown.replace(/\s/g, ''), frames[0].replace(/\s/g, ''));
    await studio.press(dialect);
  }
});

test('state: the cursor shows what was there, and forks from a checkpoint', async () => {
  const studio = await ended('table', 'rivers');
  await studio.openTab('State');
  const cursor = studio.page.getByRole('slider', { name: 'Cursor' });
  const rows = studio.page.locator('.state-view .snapshot tbody tr');
  await studio.page.locator('.state-view .status', { hasText: 'finished' }).waitFor();
  assert.equal(await rows.count(), 5);
  await cursor.fill('8');
  await studio.page.locator('.state-view .status', { hasText: 'running' }).waitFor();
  const some = await rows.count();
  assert.ok(some < 5, `${some} rows`);
  assert.ok(await studio.page.getByRole('button', { name: 'Fork from here' }).isDisabled());
  await cursor.press('ArrowRight');
  await cursor.press('End');
  const before = studio.session;
  await studio.press('Fork from here');
  await studio.page.waitForFunction((before) => !location.hash.includes(before), before);
  await studio.last.locator('.structured').waitFor();
});

test('connect: snippets have the address and the agent in them', async () => {
  const studio = await here.open('email');
  await studio.openTab('Connect');
  const code = studio.page.locator('.snippet code').first();
  await studio.page.waitForFunction(() => document.querySelector('.snippet code')?.textContent.includes('/email/'));
  assert.match(await code.innerText(), new RegExp(`api: '${here.base}/v1/ai-sdk/email/chat`));
  const buttons = studio.page.getByRole('group', { name: 'Libraries' }).getByRole('button');
  for (let at = 0; at < (await buttons.count()); at += 1) {
    await buttons.nth(at).click();
    assert.doesNotMatch(await code.innerText(), /\$\{(server|agent)\}/);
  }
});
