// What a chat must survive: a reload, a cut, a killed server, a stop, a second tab.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from './lib/stage.mjs';

// `long` takes some ten seconds at this pace: a slow machine still meets it in the middle.
const here = stage({ pace: '25ms' });

/** What a whole answer is. */
const WHOLE = {
  slow: /^One word after the other, .* nothing is lost\.$/,
  long: /^A river, from its source to the sea It begins .* and the rain begins again\.$/,
};

/** A chat in the middle of an answer. */
async function inTheMiddle(said) {
  const chat = await here.chat();
  await chat.say(said);
  await chat.last.locator('.text').waitFor();
  return chat;
}

/** Nothing lost, nothing twice. */
async function whole(chat, said) {
  await chat.settled();
  const texts = await chat.texts();
  assert.equal(texts.length, 1);
  assert.match(texts[0], WHOLE[said]);
  await chat.agrees();
}

test('a reload in the middle of an answer loses nothing and shows nothing twice', async () => {
  const chat = await inTheMiddle('long');
  await chat.page.reload();
  assert.equal(await chat.page.locator('.said').innerText(), 'long');
  await whole(chat, 'long');
});

test('a reload before the server knows the message sends it once', async () => {
  const chat = await here.chat();
  let held;
  const heldUp = new Promise((resolve) => (held = resolve));
  // The request reaches the server, and the page never hears of it.
  await chat.page.route('**/messages', async (route) => {
    await route.fetch();
    held();
  });
  await chat.say('slow');
  await heldUp;
  await chat.page.unroute('**/messages');
  await chat.page.reload();
  await whole(chat, 'slow');
  const { runs } = await (await fetch(`${here.base}/v1/runs?limit=500`)).json();
  const session = await chat.page.evaluate(() => location.hash.slice(1));
  assert.equal(runs.filter((run) => run.session === session).length, 1);
});

test('a connection that is cut is made again by the page itself', async () => {
  const chat = await inTheMiddle('long');
  await chat.press('Cut the connection');
  await chat.shows('The connection was lost and made again once');
  await whole(chat, 'long');
});

test('a server that is killed in the middle and started again: the page comes back by itself', async () => {
  const chat = await inTheMiddle('long');
  chat.mayLose = true;
  await here.server.restart();
  await whole(chat, 'long');
  assert.match(await chat.last.innerText(), /The connection was lost and made again/);
});

test('a server that is killed while a question is open: the question is still there, and can be answered', async () => {
  const chat = await here.chat('tools');
  await chat.say('delete notes.txt');
  await chat.asked();
  chat.mayLose = true;
  await here.server.restart();
  await chat.shows('The connection was lost and made again');
  await chat.choose('Allow');
  await chat.settled();
  assert.deepEqual(await chat.texts(), ['I deleted notes.txt.']);
  await chat.agrees();
});

test('a reload while a question is open asks it again', async () => {
  const chat = await here.chat('email');
  await chat.say('the new boat');
  await chat.asked();
  await chat.page.reload();
  await chat.asked();
  await chat.choose('Send');
  await chat.settled();
  assert.deepEqual(await chat.texts(), ['Sent: News: the new boat']);
});

test('what is said while the server is away is said when it is back', async () => {
  const chat = await here.chat();
  chat.mayLose = true;
  await chat.page.context().setOffline(true);
  await chat.say('hello');
  await chat.link.getByText('trying again').waitFor();
  await chat.page.context().setOffline(false);
  await chat.settled();
  assert.match((await chat.texts())[0], /^Hello!/);
  await chat.agrees();
});

test('stop ends the answer where it is', async () => {
  const chat = await inTheMiddle('long');
  await chat.press('Stop');
  await chat.settled();
  assert.match(await chat.last.innerText(), /Stopped\.$/);
  const [text] = await chat.texts();
  assert.doesNotMatch(text, WHOLE.long);
  await chat.agrees();
  // The session is not stuck.
  await chat.say('hello');
  await chat.settled(2);
  await chat.page.reload();
  await chat.settled(2);
  await chat.agrees();
});

test('two tabs on one chat show the same answer while it comes, and a stop in one is a stop in both', async () => {
  const person = await here.person();
  const one = await person.tab();
  await one.say('slow');
  await one.last.locator('.text').waitFor();
  const two = await person.tab(new URL(one.page.url()).hash);
  await Promise.all([whole(one, 'slow'), whole(two, 'slow')]);
  // What is said in one tab comes up in the other.
  await two.say('long');
  await one.answers.nth(1).locator('.text').waitFor();
  await one.press('Stop');
  await Promise.all([one.settled(2), two.settled(2)]);
  assert.match(await two.last.innerText(), /Stopped\.$/);
  assert.deepEqual(await one.texts(), await two.texts());
});

test('a question that is answered in one tab is gone in the other', async () => {
  const person = await here.person();
  const one = await person.tab();
  await one.pick('tools');
  await one.say('everything');
  await one.question.nth(1).waitFor();
  const two = await person.tab(new URL(one.page.url()).hash);
  await two.question.nth(1).waitFor();
  await two.choose('Allow');
  await one.page.waitForFunction(() => document.querySelectorAll('.ask').length === 1);
  await one.choose('Answer');
  await Promise.all([one.settled(), two.settled()]);
  assert.deepEqual(await one.texts(), await two.texts());
  await one.agrees();
});

test('a new chat leaves the old answer alone', async () => {
  const chat = await inTheMiddle('slow');
  const old = new URL(chat.page.url()).hash;
  await chat.press('New chat');
  await chat.say('hello');
  await chat.settled();
  assert.match((await chat.texts())[0], /^Hello!/);
  await chat.page.goto(`${here.base}/${old}`);
  await chat.page.locator('.said').getByText('slow').waitFor();
  await whole(chat, 'slow');
});
