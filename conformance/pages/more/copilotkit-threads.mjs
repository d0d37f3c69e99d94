// CopilotKit's list of threads: renamed, archived, restored and deleted, by routes and through the single route.

import { test } from 'node:test';
import { stage } from '../lib/stage.mjs';

const here = stage({ names: ['copilotkit-threads'] });

/** Asks for the list of threads, in its address or in the envelope of the single route. */
const isList = (request) => /\/threads\?/.test(request.url()) || /\/threads\?/.test(request.postData() ?? '');

for (const [transport, query] of [
  ['routes', {}],
  ['the single route', { single: '' }],
]) {
  test(`copilotkit threads: are renamed, archived, restored and deleted by ${transport}`, async () => {
    const page = await here.visit('copilotkit-threads', 'chat', { query });
    const threads = (text) => page.locator('.threads .name').filter({ hasText: text });
    const isGone = (text) => threads(text).waitFor({ state: 'detached' });
    const thread = page.locator('.threads li').filter({ hasText: 'heron' });
    // The list changes before the server has responded, and reloading the page too early aborts the request.
    const press = async (name) => {
      const changed = page.tab.waitForResponse((response) => response.status() === 204);
      await thread.getByRole('button', { name, exact: true }).click();
      await changed;
    };
    const reload = async () => {
      const listed = page.tab.waitForResponse((response) => isList(response.request()));
      await page.reload();
      await listed;
    };
    // A list that is opened later is the server's.
    const reopened = async (text) => {
      await reload();
      await threads(text).waitFor();
    };
    await page.say('hello heron');
    await page.shows('to see that I remember');
    await reopened('hello heron');
    await press('Rename');
    await threads('The blue heron').waitFor();
    await reopened('The blue heron');
    await press('Archive');
    await isGone('The blue heron');
    await reload();
    await page.button('Archived too').click();
    await page.locator('.threads li[data-archived=true]').filter({ hasText: 'The blue heron' }).waitFor();
    await press('Restore');
    await reopened('The blue heron');
    await press('Delete');
    await isGone('The blue heron');
    // The conversation went with it.
    await reload();
    await page.say('what did I say?');
    await page.shows(/Nothing yet: this is your first message/);
    await page.counts({ 'The blue heron': 0 });
  });
}
