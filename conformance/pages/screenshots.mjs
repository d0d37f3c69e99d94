// Takes the pictures of docs/dialects.md: `node screenshots.mjs --screenshots ../../docs/images`.

import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { open } from './lib/stage.mjs';

const { values } = parseArgs({ options: { screenshots: { type: 'string' } } });
if (!values.screenshots) throw new Error('name the folder: --screenshots FOLDER');
const folder = resolve(values.screenshots);

const names = ['ai-7', 'tanstack', 'mui'];
const scenes = [
  { agent: 'email', text: 'the new boat', until: (page) => page.button('Revise').waitFor() },
  { agent: 'table', text: 'planets', until: (page) => page.shows('Planets: 4 rows.') },
];

await mkdir(folder, { recursive: true });
const here = await open({ names });
try {
  for (const name of names) {
    for (const { agent, text, until } of scenes) {
      const page = await here.visit(name, agent, { viewport: { width: 640, height: 620 } });
      await page.say(text);
      await until(page);
      // Neither a blinking caret nor a moving dot makes two pictures of the same page differ.
      const path = join(folder, `${name}-${agent}.png`);
      await page.tab.screenshot({ path, animations: 'disabled', caret: 'hide' });
      await page.close();
    }
  }
  if (here.faults.length > 0) throw new Error(here.faults.join('\n'));
} finally {
  await here.close();
}
