// What a conversation must survive: reload, cut, a killed server, stop, a queue, a second tab.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getJson, stage } from './stage.mjs';

const here = stage({ pace: '12ms' });
const LONG = /^A river, from its source to the sea .* and the rain begins again\.$/;

async function inTheMiddle() {
  const studio = await here.open('chat');
  await studio.send('long');
  await studio.last.locator(':scope > .markdown').waitFor();
  return studio;
}

test('reload in the middle of an answer loses nothing and repeats nothing', async () => {
  const studio = await inTheMiddle();
  await studio.page.reload();
  await studio.last.locator(':scope > .markdown').waitFor();
  await studio.settled();
  assert.match(await studio.textOf(), LONG);
  assert.equal(await studio.page.locator('.said').count(), 1);
});

test('cuts in the middle: the panel counts no lost and no repeated record', async () => {
  const studio = await inTheMiddle();
  await studio.openTab('Reliability');
  for (let cut = 0; cut < 3; cut += 1) {
    const button = studio.page.getByRole('button', { name: 'Cut the connection' });
    await button.and(studio.page.locator(':enabled')).click();
    await studio.page.getByRole('status').getByText('connecting again').waitFor();
  }
  await studio.settled();
  assert.match(await studio.textOf(), LONG);
  const counter = async (name) => Number(await studio.page.locator('.counters > div', { has: studio.page.getByText(name, { exact: true }) }).locator('dd').innerText());
  await studio.page.getByText('Compared with a fresh read of the run').waitFor();
  assert.ok((await counter('connections')) >= 4);
  assert.equal(await counter('cuts'), 3);
  assert.equal(await counter('records lost'), 0);
  assert.equal(await counter('records repeated'), 0);
  assert.equal(await counter('characters missing'), 0);
});

test('server that is killed and started again: the page continues by itself', async () => {
  const studio = await inTheMiddle();
  studio.mayFail = /net::ERR_|Failed to load resource/;
  await here.server.restart();
  await studio.settled();
  assert.match(await studio.textOf(), LONG);
});

test('server that is away: a banner, and nothing hangs', async () => {
  const studio = await here.open('chat');
  await studio.page.getByRole('button', { name: 'Hello' }).waitFor();
  studio.mayFail = /net::ERR_|Failed to load resource/;
  await studio.page.context().setOffline(true);
  await studio.page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
  await studio.page.context().setOffline(false);
  await studio.page.locator('.banner').waitFor({ state: 'detached' });
  await studio.press('Hello');
  await studio.settled();
});

test('stop ends the answer where it is', async () => {
  const studio = await inTheMiddle();
  await studio.press('Stop');
  await studio.settled();
  await studio.last.getByText('Stopped.').waitFor();
  assert.doesNotMatch(await studio.textOf(), LONG);
});

test('queue: messages wait, can be edited, removed and sent now', async () => {
  const studio = await inTheMiddle();
  const queue = studio.page.getByRole('list', { name: 'Messages that wait' });
  await studio.send('second');
  await queue.getByText('second').waitFor();
  await studio.send('third');
  await queue.getByText('third').waitFor();
  await studio.press('Remove', queue.getByRole('listitem').filter({ hasText: 'third' }));
  await queue.getByText('third').waitFor({ state: 'detached' });
  await studio.press('Edit', queue);
  await studio.page.getByLabel('Text of the waiting message').fill('Hello');
  await studio.press('Keep');
  await queue.getByText('Hello').waitFor();
  await studio.press('Send now', queue);
  await studio.last.getByText('Hello!').waitFor();
  await studio.settled(2);
});

test('two tabs: an answer grows in both, and a question answered in one is gone in the other', async () => {
  const person = await here.person();
  const one = await person.tab('#/new/tools');
  await one.send('delete notes.txt');
  await one.ask.waitFor();
  const two = await person.tab(new URL(one.page.url()).hash);
  await two.ask.waitFor();
  await two.press('Allow');
  await one.ask.waitFor({ state: 'detached' });
  await Promise.all([one.settled(), two.settled()]);
  assert.equal(await one.textOf(), await two.textOf());
  // A message of one tab appears in the other.
  await two.send('weather in Paris');
  await one.answers.nth(1).locator(':scope > .markdown').waitFor();
  await Promise.all([one.settled(2), two.settled(2)]);
  assert.equal(await one.textOf(), await two.textOf());
});

test('lost response: a message is sent once, although the page sends it again', async () => {
  const studio = await here.open('chat');
  studio.mayFail = /net::ERR_|Failed to load resource/;
  let lost = 0;
  // The request reaches the server, and its response never reaches the page.
  await studio.page.route(/\/v1\/runs\??$/, async (route) => {
    if (route.request().method() !== 'POST' || lost > 0) return route.continue();
    lost += 1;
    await route.fetch();
    await route.abort('connectionreset');
  });
  await studio.send('Hello');
  await studio.last.locator(':scope > .markdown').waitFor();
  await studio.settled();
  assert.equal(lost, 1);
  assert.equal(await studio.page.locator('.said').count(), 1);
  const { runs } = await getJson(`${here.base}/v1/runs?session=${studio.session}&limit=50`);
  assert.equal(runs.length, 1);
});

test('question that is open across a kill of the server can be answered', async () => {
  const studio = await here.open('tools');
  await studio.send('delete notes.txt');
  await studio.ask.waitFor();
  studio.mayFail = /net::ERR_|Failed to load resource/;
  await here.server.restart();
  await studio.press('Allow');
  await studio.last.getByText('I deleted notes.txt.').waitFor();
  await studio.settled();
});

test('message that is sent while the server is away is sent when it is back', async () => {
  const studio = await here.open('chat');
  await studio.page.getByRole('button', { name: 'Hello', exact: true }).waitFor();
  studio.mayFail = /net::ERR_|Failed to load resource/;
  await studio.page.context().setOffline(true);
  await studio.send('Hello');
  await studio.page.getByRole('alert').getByText('The server cannot be reached.').first().waitFor();
  await studio.page.context().setOffline(false);
  await studio.last.getByText('Hello!').waitFor();
  await studio.settled();
  assert.equal(await studio.page.locator('.said').count(), 1);
});

test('server that is killed and restarted from the page: nothing is lost, nothing comes twice', async () => {
  const studio = await inTheMiddle();
  await studio.openTab('Reliability');
  studio.mayFail = /net::ERR_|Failed to load resource/;
  await studio.press('Kill and restart the server');
  await studio.page.getByRole('status', { name: 'Server' }).getByText('restarted once').waitFor();
  await studio.settled();
  assert.match(await studio.textOf(), LONG);
  await studio.page.getByRole('status', { name: 'Verdict' }).getByText('0 lost, 0 twice').waitFor();
});
