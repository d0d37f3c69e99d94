// What an answer survives: a reload of the page, and a crash of the server.

const BEGIN = /One word after the other/;
const END = /nothing is lost\.$/;

/** The whole answer is there, and once. */
async function isWhole(page) {
  await page.shows(END);
  await page.counts({ 'One word after the other': 1, 'as slowly as a tired model': 1 });
}

export const endurance = [
  {
    name: 'reload',
    title: 'continues an answer after a reload',
    async check({ visit }) {
      const page = await visit('chat');
      await page.say('slow');
      await page.shows(BEGIN);
      await page.reload();
      await isWhole(page);
      // The question belongs to it.
      await page.tab.getByText('slow', { exact: true }).waitFor();
    },
  },
  {
    name: 'kill',
    title: 'ends with the whole answer although the server was killed',
    async check({ visit, kill, page: { recovers } }) {
      const page = await visit('chat');
      await page.say('slow');
      await page.shows(BEGIN);
      page.expectLoss();
      await kill();
      if (recovers === 'by a reload') await page.reload();
      await isWhole(page);
    },
  },
];
