// Conversations: every demo agent, what a run asks, and what a chat must survive.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getJson, stage } from './stage.mjs';

const here = stage({ pace: '4ms' });

test('chat: Markdown, folded thoughts, sources, a picture', async () => {
  const studio = await here.open('chat');
  await studio.press('Hello');
  await studio.settled();
  await studio.last.locator('.markdown strong', { hasText: 'Hello!' }).waitFor();
  await studio.last.locator('.markdown code', { hasText: 'chat' }).first().waitFor();
  assert.equal(await studio.last.locator('details.thought').getAttribute('open'), null, 'thoughts are folded');
  await studio.last.locator('details.thought summary').click();
  await studio.last.getByText('A greeting. I say what I can do.').waitFor();
  await studio.last.getByRole('list', { name: 'Sources' }).getByRole('link', { name: 'An example page' }).waitFor();
  await studio.last.locator('img.picture').waitFor();
  assert.match(studio.page.url(), /#\/session\/[0-9a-f]{24}$/, 'a session has a URL');
});

test('table: a structured object fills in as a table', async () => {
  const studio = await here.open('table');
  await studio.send('rivers');
  await studio.last.locator('.structured th').first().waitFor();
  await studio.settled();
  assert.ok((await studio.last.locator('.structured tbody tr').count()) >= 3);
});

test('flaky: an attempt that failed is marked, and its text is gone', async () => {
  const studio = await here.open('flaky');
  await studio.send('Are you there?');
  await studio.settled();
  await studio.last.getByText('1 attempt failed and was retracted').waitFor();
  assert.doesNotMatch(await studio.textOf(), /gets as far as this/);
});

test('email: a draft grows, a question is asked and answered', async () => {
  const studio = await here.open('email');
  await studio.send('the new boat');
  await studio.last.locator('.structured').waitFor();
  await studio.press('Send', studio.ask);
  await studio.last.getByText('Sent: News: the new boat').waitFor();
  await studio.settled();
  assert.equal(await studio.ask.count(), 0);
  await studio.last.locator('.answered').waitFor();
});

test('tools: approval with a reason, tool of the page, durations and results', async () => {
  const studio = await here.open('tools');
  await studio.send('everything');
  await studio.ask.nth(1).waitFor();
  await studio.page.getByRole('status').getByText('waits for you').waitFor();
  await studio.page.getByLabel('Reason').fill('they are old');
  await studio.press('Allow');
  await studio.page.getByLabel('Output as JSON').fill('{ "city": "Bergen" }');
  await studio.press('Answer');
  await studio.last.getByText('You are in Bergen.').waitFor();
  await studio.settled();
  assert.match(await studio.textOf(), /I deleted notes\.txt\. You are in Bergen\./);
  const tool = studio.last.locator('details.tool', { hasText: 'Delete a file' });
  assert.match(await tool.locator('.aside').innerText(), /\d ms|\d s/);
  await tool.locator('summary').click();
  await tool.getByText('allowed: they are old').waitFor();
});

test('refused approval: the tool is not run', async () => {
  const studio = await here.open('tools');
  await studio.send('delete notes.txt');
  await studio.press('Refuse', studio.ask);
  await studio.settled();
  await studio.last.locator('details.tool.bad').getByText('not allowed').waitFor();
});

test('failed run: the error is shown with its code, and can be tried again', async () => {
  const studio = await here.open('chat');
  await studio.send('error');
  await studio.page.getByRole('alert').locator('code').waitFor();
  await studio.press('Try again');
  await studio.page.getByRole('alert').locator('code').waitFor();
});

test('edit: the turn is done again with the new text', async () => {
  const studio = await here.open('flaky');
  await studio.send('first text');
  await studio.settled();
  await studio.page.locator('.said').hover();
  await studio.press('Edit this message');
  await studio.page.getByLabel('Edited message').fill('second text');
  await studio.page.keyboard.press('Enter');
  await studio.last.getByText('You said: second text').waitFor();
  await studio.settled();
  assert.equal(await studio.page.locator('.said').count(), 1);
});

test('regenerate: another run answers the same message', async () => {
  const studio = await here.open('flaky');
  await studio.send('again');
  await studio.settled();
  const { lastRun } = await getJson(`${here.base}/v1/sessions/${studio.session}`);
  await studio.press('Answer again');
  await studio.page.waitForFunction(async ([session, run]) => (await (await fetch(`/v1/sessions/${session}`)).json()).lastRun !== run, [studio.session, lastRun]);
  await studio.last.getByText('You said: again').waitFor();
  await studio.settled();
});

test('fork: a new session continues from an answer', async () => {
  const studio = await here.open('flaky');
  await studio.send('root');
  await studio.settled();
  const before = studio.session;
  await studio.press('Fork the conversation here');
  await studio.page.waitForFunction((before) => !location.hash.includes(before), before);
  await studio.settled();
  assert.match(await studio.textOf(), /You said: root/);
  await studio.send('branch');
  await studio.settled(2);
  assert.equal((await getJson(`${here.base}/v1/sessions/${before}/messages`)).messages.length, 2, 'the old session is not touched');
});

test('variants: an answer that was given again, and the way back to the first', async () => {
  const studio = await here.open('chat');
  await studio.send('Hello');
  await studio.settled();
  await studio.press('Answer again');
  await studio.last.getByRole('group', { name: 'Variant 2 of 2' }).waitFor();
  await studio.settled();
  await studio.press('Edit this message');
  await studio.page.getByLabel('Edited message').fill('What did I say?');
  await studio.page.getByLabel('Edited message').press('Enter');
  await studio.last.getByRole('group', { name: 'Variant 3 of 3' }).waitFor();
  await studio.page.locator('.said').getByText('What did I say?').waitFor();
  await studio.press('Variant before');
  await studio.last.getByRole('group', { name: 'Variant 2 of 3' }).waitFor();
  await studio.page.locator('.said').getByText('Hello').waitFor();
  assert.match(await studio.textOf(), /^Hello!/);
  await studio.page.reload();
  await studio.last.getByRole('group', { name: 'Variant 2 of 3' }).waitFor();
  await studio.press('Next variant');
  await studio.page.locator('.said').getByText('What did I say?').waitFor();
  assert.equal(await studio.page.locator('.said').count(), 1);
});

test('send again: the message takes the place of the one that failed', async () => {
  const studio = await here.open('chat');
  studio.mayFail = /status of 40[49]/;
  const refusal = { status: 409, contentType: 'application/json', body: JSON.stringify({ error: 'the session has no room', code: 'session.queue-full' }) };
  await studio.page.route(/\/v1\/runs\??$/, (route) => (route.request().method() === 'POST' ? route.fulfill(refusal) : route.fallback()));
  await studio.send('Hello');
  await studio.page.locator('.said.error').getByText('Not sent').waitFor();
  await studio.press('Send again');
  await studio.page.locator('.said.error').getByText('Not sent').waitFor();
  assert.equal(await studio.page.locator('.said').count(), 1, 'one that failed twice is there once');
  await studio.page.unroute(/\/v1\/runs\??$/);
  await studio.press('Send again');
  await studio.settled();
  assert.equal(await studio.page.locator('.said').count(), 1);
  assert.equal(await studio.page.locator('.said.error').count(), 0);
});
