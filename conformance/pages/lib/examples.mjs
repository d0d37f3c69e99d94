// The pages of `examples/web`: each does what its guide says.

import { test } from 'node:test';
import { BEHAVIOURS } from './behaviours.mjs';
import { stage } from './stage.mjs';

/** What people do first with a page that they copied. */
const FIRST = ['text', 'two turns', 'server tool', 'approval', 'question', 'object', 'stop', 'reload'];

/** `cannot` says why a page leaves something out. */
export function judgeExample(name, { cannot = {}, needs } = {}) {
  const page = `example ${name}`;
  const here = stage({ names: [page] });
  const visit = (agent, options) => here.visit(page, agent, options);
  const check = (title, run) =>
    test(`${page}: ${title}`, async (context) => {
      // A server may be older than the page.
      if (needs && !(await here.routes()).includes(needs)) return context.skip(`the server has no ${needs}`);
      await run();
    });

  for (const behaviour of BEHAVIOURS) {
    if (!FIRST.includes(behaviour.name) || behaviour.name in cannot) continue;
    check(`${behaviour.name}: ${behaviour.title}`, () => behaviour.check({ ...here, visit }));
  }
  if ('client tool' in cannot) return;
  check('client tool: executes a tool of the page', async () => {
    const page = await visit('tools');
    await page.say('where am I?');
    await page.shows('You are in Bergen.');
  });
}
