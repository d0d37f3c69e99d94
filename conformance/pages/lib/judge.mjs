// All tests of one page.

import { test } from 'node:test';
import { BEHAVIOURS } from './behaviours.mjs';
import { PAGES } from './catalog.mjs';
import { stage } from './stage.mjs';
import { suite } from './suite.mjs';

export function judge(name) {
  const page = PAGES[name];
  const here = stage({ names: [name] });
  if (page.demo) suite(name, page.demo, here);
  const visit = (agent, options) => here.visit(name, agent, options);
  for (const behaviour of BEHAVIOURS) {
    if (behaviour.name in page.cannot) continue;
    // The first words are how `table.mjs` finds the page and the behaviour.
    test(`${name}: ${behaviour.name}: ${behaviour.title}`, () => behaviour.check({ ...here, visit, page }));
  }
}
