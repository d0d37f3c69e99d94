// What an answer consists of, and what a page gives back to it.

import assert from 'node:assert/strict';

export const answers = [
  {
    name: 'text',
    title: 'shows an answer',
    async check({ visit }) {
      const page = await visit('chat');
      await page.say('hello heron');
      await page.shows('to see that I remember');
      await page.counts({ 'What I can show:': 1 });
    },
  },
  {
    name: 'two turns',
    title: 'remembers the turn before',
    async check({ visit }) {
      const page = await visit('chat');
      await page.say('hello heron');
      await page.shows('to see that I remember');
      await page.say('what did I say?');
      await page.shows(/Before this you said/);
      await page.tab.getByText('hello heron').nth(1).waitFor();
    },
  },
  {
    name: 'server tool',
    title: 'shows a call of a tool on the server and what it gave',
    async check({ visit }) {
      const page = await visit('tools');
      await page.say('weather in Paris');
      await page.shows(/In Paris it is/);
      // TanStack's before 0.3 shows calls of the server's when the run has ended.
      await page.locator('.tool').first().waitFor();
      await page.selects({ '.tool': 1 });
    },
  },
  {
    name: 'approval',
    title: 'approves and denies a call',
    async check({ visit }) {
      const page = await visit('tools');
      await page.say('delete notes.txt');
      await page.button('Approve').click();
      await page.shows('I deleted notes.txt.');
      await page.say('delete draft.txt');
      await page.button('Deny').click();
      await page.shows('I left draft.txt alone, as you wished.');
    },
  },
  {
    name: 'client tool',
    title: 'executes a tool of the page once',
    async check({ visit }) {
      const page = await visit('tools');
      await page.say('where am I?');
      await page.shows('You are in Bergen.');
      assert.equal(await page.executions(), 1);
    },
  },
  {
    name: 'client tool, reloaded',
    title: 'executes a tool of the page no second time after a reload',
    async check({ visit }) {
      const page = await visit('tools');
      await page.say('where am I?');
      await page.shows('You are in Bergen.');
      await page.reload();
      await page.shows('You are in Bergen.');
      // What a page executes when it is loaded, it has executed before it is answered again.
      await page.say('weather in Paris');
      await page.shows(/In Paris it is/);
      assert.equal(await page.executions(), 1);
      await page.counts({ 'You are in Bergen.': 1 });
    },
  },
  {
    name: 'question',
    title: 'answers a question',
    async check({ visit }) {
      const page = await visit('email');
      await page.say('the new boat');
      await page.button('Send').click();
      await page.shows('Sent: News: the new boat');
    },
  },
  {
    name: 'object',
    title: 'shows a structured object',
    async check({ visit }) {
      const page = await visit('table');
      await page.say('planets');
      await page.shows('Planets: 4 rows.');
      await page.selects({ '.grid': 1, '.grid tbody tr': 4 });
    },
  },
  {
    name: 'no noise',
    title: 'gives callbacks the data of the agent and no other',
    async check({ visit }) {
      const page = await visit('chat');
      await page.say('hello');
      await page.shows('to see that I remember');
      await page.say('what did I say?');
      await page.shows(/Before this you said/);
      const foreign = (await page.data()).filter((name) => !/^(data-)?follow-ups$/.test(name));
      assert.deepEqual(foreign, []);
    },
  },
];
