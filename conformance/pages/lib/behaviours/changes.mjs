// Changes that a user makes to a conversation: edit, regenerate, stop and start over.

import assert from 'node:assert/strict';
import { until } from '../../../clients/lib/until.mjs';
import { PATIENCE } from '../patience.mjs';

/** What the agent `chat` remembers, as the page shows it after `what did I say?`. */
async function remembered(page) {
  await page.reads(/Before this you said:\s*>?\s*hello (heron|stork)|Nothing yet: this is your first message\./);
  return page.transcript();
}

/** The runs of an agent that begin after this is called, the oldest first. */
async function newRuns({ runs }, agent) {
  const known = new Set((await runs(agent)).map(({ id }) => id));
  return async () => (await runs(agent)).filter(({ id }) => !known.has(id)).reverse();
}

/** A page whose answer has begun and was stopped by the client's own means. */
async function stopped(here) {
  const since = await newRuns(here, 'runs');
  const page = await here.visit('runs');
  await page.say('slow');
  await page.shows(/It begins slowly/);
  await page.press('stop');
  return { page, since };
}

/** The first run is reported as one that a person stopped. */
function isCancelled(since) {
  return until('the stopped run to be cancelled', async () => (await since())[0].status === 'cancelled', PATIENCE);
}

export const changes = [
  {
    name: 'edit',
    title: 'asks with the edited history alone',
    async check({ visit }) {
      const page = await visit('chat');
      for (const text of ['hello heron', 'hello stork']) {
        await page.say(text);
        await page.shows(text);
        await page.tab.getByText('to see that I remember').nth(text === 'hello heron' ? 0 : 1).waitFor();
      }
      await page.edit('hello stork', 'what did I say?');
      const second = await remembered(page);
      assert.doesNotMatch(second, /stork/);
      assert.match(second, /Before this you said:[^]*hello heron/);
      await page.edit('hello heron', 'what did I say?');
      await page.hides(/Before this you said/);
      const first = await remembered(page);
      assert.doesNotMatch(first, /heron|stork/);
      assert.match(first, /Nothing yet/);
    },
  },
  {
    name: 'regenerate',
    title: 'regenerates an answer by a run of its own',
    async check(here) {
      const since = await newRuns(here, 'runs');
      const page = await here.visit('runs');
      await page.say('go');
      const first = await page.textOf(/This is run_/);
      await page.press('regenerate');
      await page.hides(first);
      assert.notEqual(await page.textOf(/This is run_/), first);
      await page.counts({ 'This is run_': 1 });
      assert.equal((await since()).length, 2);
    },
  },
  {
    name: 'regenerate',
    title: 'asks for another answer without asking the question twice',
    async check(here) {
      const since = await newRuns(here, 'chat');
      const page = await here.visit('chat');
      await page.say('hello heron');
      await page.shows('to see that I remember');
      await page.say('what did I say?');
      await remembered(page);
      const ended = (count) =>
        until(
          `${count} runs to end`,
          async () => {
            const runs = await since();
            return runs.length === count && runs.every(({ status }) => status === 'finished');
          },
          PATIENCE,
        );
      await ended(2);
      await page.press('regenerate');
      await ended(3);
      await page.reads(/Before this you said:\s*>?\s*hello heron/);
      await page.counts({ 'Before this you said': 1 });
    },
  },
  {
    name: 'stop',
    title: 'stops an answer, and is answered at once after it',
    async check(here) {
      const { page, since } = await stopped(here);
      await page.say('go');
      await page.shows(/This is run_/);
      await page.counts({ 'and it ends.': 0 });
      await isCancelled(since);
    },
  },
  {
    name: 'stop, reloaded',
    title: 'keeps a stopped answer stopped after a reload',
    async check(here) {
      const { page, since } = await stopped(here);
      // Until the next message a stop and a closed page look the same, and that answer is to continue.
      await page.say('go');
      await page.shows(/This is run_/);
      await isCancelled(since);
      await page.reload();
      await page.shows(/It begins slowly/);
      await page.shows(/This is run_/);
      await page.counts({ 'and it ends.': 0 });
    },
  },
  {
    name: 'clear',
    title: 'remembers nothing of the cleared messages',
    async check({ visit }) {
      const page = await visit('chat');
      await page.say('hello heron');
      await page.shows('to see that I remember');
      await page.press('clear');
      await page.hides('hello heron');
      await page.say('what did I say?');
      const said = await remembered(page);
      assert.doesNotMatch(said, /heron/);
      assert.match(said, /Nothing yet/);
    },
  },
];
