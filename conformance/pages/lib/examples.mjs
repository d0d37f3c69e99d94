// The pages of `examples/web`: each does what its guide says.

import { test } from 'node:test';
import { BEHAVIOURS } from './behaviours.mjs';
import { stage } from './stage.mjs';

/** What people do first with a page that they copied. */
const FIRST = ['text', 'two turns', 'server tool', 'approval', 'question', 'object', 'stop', 'reload'];

/** `cannot` says why a page leaves something out, and `first` what a smaller page is for. */
export function judgeExample(name, { cannot = {}, first = FIRST } = {}) {
  const page = `example ${name}`;
  const here = stage({ names: [page] });
  const visit = (agent, options) => here.visit(page, agent, options);

  for (const behaviour of BEHAVIOURS) {
    if (!first.includes(behaviour.name) || behaviour.name in cannot) continue;
    test(`${page}: ${behaviour.name}: ${behaviour.title}`, () => behaviour.check({ ...here, visit }));
  }
  if (first !== FIRST || 'client tool' in cannot) return;
  test(`${page}: client tool: executes a tool of the page`, async () => {
    const page = await visit('tools');
    await page.say('where am I?');
    await page.shows('You are in Bergen.');
  });
}
