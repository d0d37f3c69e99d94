// Two people with keys of their own on one server, one after the other in the same tab.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from './stage.mjs';

const KEYS = { ann: 'ann-has-a-key-of-her-own', bob: 'bob-has-a-key-of-his-own' };
const here = stage({ settings: Object.entries(KEYS).flatMap(([name, key]) => ['--api-key', `${name}=${key}`]) });
const SECRET = 'delete the-plans-of-ann.txt';

async function logIn(studio, name) {
  await studio.page.getByPlaceholder('API key').fill(KEYS[name]);
  await studio.press('Log in');
  await studio.page.getByRole('button', { name: 'Log out' }).waitFor();
}

/** A tab whose person is not logged in: the server says so to each request. */
async function atTheDoor(hash) {
  const studio = await (await here.person()).tab(hash);
  await studio.page.getByPlaceholder('API key').waitFor();
  return studio;
}

test('after a log-out nothing of one person is left for the next: not in the rail, the inbox or by a URL', async () => {
  const studio = await atTheDoor('#/new/tools');
  await logIn(studio, 'ann');
  await studio.send(SECRET);
  await studio.ask.waitFor();
  const { session } = studio;
  await studio.openTab('Timeline');
  const run = (await studio.page.locator('.run-picker code').innerText()).trim();
  await studio.page.locator('.sessions li', { hasText: SECRET }).waitFor();
  await studio.page.locator('.badge', { hasText: '1' }).waitFor();

  await studio.press('Log out');
  await studio.page.getByPlaceholder('API key').waitFor();
  assert.doesNotMatch(await studio.page.locator('body').innerText(), /the-plans-of-ann/);
  await logIn(studio, 'bob');
  await studio.page.getByText('No conversations yet').waitFor();
  assert.equal(await studio.page.locator('.badge').count(), 0);
  assert.equal(await studio.page.evaluate((key) => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]).includes(key), KEYS.ann), false);

  const go = (hash) => studio.page.evaluate((hash) => (location.hash = hash), hash);
  await go('#/inbox');
  await studio.page.getByRole('heading', { name: 'Nothing waits' }).waitFor();
  await go(`#/run/${run}`);
  await studio.page.getByRole('alert').getByText('unknown run, or it is not yours').waitFor();
  await go(`#/session/${session}/timeline/${run}`);
  await studio.page.getByRole('alert').getByText('unknown run, or it is not yours').waitFor();
  await studio.input.waitFor();
  assert.equal(await studio.page.locator('.message').count(), 0);
  assert.equal(await studio.ask.count(), 0);
  assert.doesNotMatch(await studio.page.locator('body').innerText(), /the-plans-of-ann/);

  // It is all there for the first person.
  await studio.press('Log out');
  await logIn(studio, 'ann');
  await studio.page.locator('.sessions li', { hasText: SECRET }).getByRole('link').click();
  await studio.ask.waitFor();
});

test('a tab that another person opens beside it is asked for a key of its own', async () => {
  const studio = await atTheDoor('#/inbox');
  await logIn(studio, 'bob');
  const other = await atTheDoor('#/inbox');
  assert.equal(await other.page.locator('.rail').count(), 0);
});
