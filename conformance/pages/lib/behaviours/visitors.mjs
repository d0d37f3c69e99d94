// Several people, and several tabs of one.

import assert from 'node:assert/strict';

export const visitors = [
  {
    name: 'visitors',
    title: 'keeps two visitors apart that have the library choose the conversation',
    async check({ visit }) {
      const one = await visit('chat', { conversation: null });
      await one.say('my secret is 42');
      await one.shows(/You wrote 4 words/);
      const other = await visit('chat', { conversation: null });
      await other.say('what did I say?');
      await other.reads(/Before this you said:\s*>?\s*\S+ secret|Nothing yet: this is your first message\./);
      assert.doesNotMatch(await other.transcript(), /secret/);
      await one.say('what did I say?');
      await one.reads(/Before this you said:\s*>?\s*my secret is 42/);
    },
  },
  {
    name: 'tabs',
    title: 'shows the answer in a second tab too',
    async check({ visit }) {
      const one = await visit('chat');
      await one.say('slow');
      await one.shows(/One word after the other/);
      const other = await visit('chat', { conversation: one.conversation, beside: one });
      for (const tab of [one, other]) {
        await tab.shows(/nothing is lost\.$/);
        await tab.counts({ 'One word after the other': 1 });
      }
    },
  },
];
