// Every demo agent, as a person would try it: typed, pressed and read.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from './lib/stage.mjs';
import { journal } from './lib/journal.mjs';

const here = stage();

test('chat shows thoughts, text, sources, a file and data, and knows the conversation', async () => {
  const chat = await here.chat();
  await chat.say('hello');
  await chat.settled(1);
  assert.match((await chat.texts())[0], /^Hello! I am the demo agent chat/);
  assert.match(await chat.last.locator('.thought').innerText(), /A greeting/);
  assert.deepEqual(await chat.last.locator('.sources li').allInnerTexts(), ['An example page', 'The design of Headwater']);
  assert.equal(await chat.last.locator('img').count(), 1);
  assert.equal(await chat.last.getByText('"questions"').count(), 1);
  await chat.say('what did I say?');
  await chat.settled(2);
  assert.deepEqual(await chat.texts(), ['Before this you said: hello']);
  await chat.say('table');
  await chat.settled(3);
  assert.equal(await chat.last.locator('tbody tr').count(), 3);
  await chat.agrees();
});

test('what is said is shown as it was typed, and is never taken as HTML', async () => {
  const chat = await here.chat();
  const said = '<img src=x onerror="alert(1)"> **žluťoučký** 🐎 <script>';
  await chat.input.fill(said);
  await chat.input.press('Enter');
  await chat.settled();
  assert.equal(await chat.page.locator('.said').innerText(), said);
  assert.match((await chat.texts())[0], /^You wrote 6 words: <img src=x onerror="alert\(1\)">/);
  assert.equal(await chat.page.locator('#log img[src="x"]').count(), 0);
});

test('an answer that fails is told, and the chat goes on', async () => {
  const chat = await here.chat();
  await chat.say('error');
  await chat.settled(1);
  assert.match(await chat.last.locator('.error').innerText(), /the demo was asked to fail, and did/);
  await chat.say('hello');
  await chat.settled(2);
  assert.match((await chat.texts())[0], /^Hello!/);
});

test('email shows a draft, takes revise and send, and shows the shorter draft', async () => {
  const chat = await here.chat('email');
  await chat.say('the new boat');
  await chat.asked();
  assert.equal(await chat.last.locator('.box li').count(), 3);
  assert.match(await chat.question.innerText(), /Send “News: the new boat”\?/);
  await chat.choose('Revise');
  // The question of the second draft is another one.
  await chat.shows('You answered: revise');
  await chat.asked();
  assert.equal(await chat.last.locator('.box').nth(1).locator('li').count(), 2);
  await chat.choose('Send');
  await chat.settled();
  assert.deepEqual(await chat.texts(), ['Sent: News: the new boat']);
  assert.equal(await chat.question.count(), 0);
  const { structured } = await journal(chat, (await chat.runs())[0]);
  const drafts = await chat.last.locator('.box').allInnerTexts();
  for (const [at, { data }] of Object.values(structured).entries()) {
    for (const text of [data.subject, ...data.body.split('\n\n'), ...data.bullets]) assert.ok(drafts[at].includes(text), text);
  }
  await chat.agrees();
});

for (const [button, text, state] of [
  ['Allow', 'I deleted notes.txt.', 'done'],
  ['Deny', 'I left notes.txt alone, as you wished.', 'not allowed'],
]) {
  test(`tools: ${button} is what the call gets`, async () => {
    const chat = await here.chat('tools');
    await chat.say('delete notes.txt');
    await chat.asked();
    assert.match(await chat.question.innerText(), /May it call delete_file with {"path":"notes.txt"}\?/);
    await chat.choose(button);
    await chat.settled();
    assert.deepEqual(await chat.texts(), [text]);
    assert.equal(await chat.last.locator('.tool .state').innerText(), state);
    await chat.agrees();
  });
}

test('tools: calls of the server, of the page, and one to allow, all in one answer', async () => {
  const chat = await here.chat('tools');
  await chat.say('everything');
  await chat.question.nth(1).waitFor();
  const page = chat.question.filter({ hasText: 'get_location' });
  await page.getByRole('textbox').fill('Bergen');
  await page.getByRole('button', { name: 'Answer' }).click();
  await chat.page.waitForFunction(() => document.querySelectorAll('.ask').length === 1);
  await chat.choose('Allow');
  await chat.settled();
  assert.match((await chat.texts()).at(-1), /I deleted notes\.txt\. You are in Bergen\./);
  assert.deepEqual(await chat.last.locator('.tool .state').allInnerTexts(), ['done', 'done', 'done', 'done']);
  await chat.agrees();
});

test('tools: a tool that fails is shown as failed', async () => {
  const chat = await here.chat('tools');
  await chat.say('weather in Atlantis');
  await chat.settled();
  assert.equal(await chat.last.locator('.tool .state').innerText(), 'failed');
  await chat.agrees();
});

test('table grows row by row to what the journal has', async () => {
  const chat = await here.chat('table');
  await chat.say('planets');
  await chat.settled();
  const { structured } = await journal(chat, (await chat.runs())[0]);
  const [{ data }] = Object.values(structured);
  const cells = chat.last.locator('tbody tr');
  assert.equal(await cells.count(), data.rows.length);
  for (const [at, row] of data.rows.entries()) {
    assert.deepEqual(await cells.nth(at).locator('td').allInnerTexts(), row.map(String));
  }
  await chat.agrees();
});

test('flaky takes back what the dead model said', async () => {
  const chat = await here.chat('flaky');
  await chat.say('are you there?');
  await chat.settled();
  assert.equal(await chat.last.getByText('What it had said was taken back').first().count(), 1);
  const texts = await chat.texts();
  assert.equal(texts.length, 1);
  assert.match(texts[0], /^The first model died.*You said: are you there\?$/);
  await chat.agrees();
});

test('the button of an example says what it shows', async () => {
  const chat = await here.chat('tools');
  await chat.press('weather in Paris');
  await chat.settled();
  assert.deepEqual(await chat.texts(), ['In Paris it is 19 °C and rainy.']);
});
