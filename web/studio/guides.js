// Makes `virtual:guides` of docs/guides: for each UI library its title and the code by which a page connects.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** In this order, with the blocks of the guide that connect a page. */
const LIBRARIES = [
  ['ai-sdk', ['transport', 'chat']],
  ['tanstack', ['connection', 'chat']],
  ['mui', ['adapter', 'chat']],
  ['assistant-ui', ['transport', 'runtime']],
  ['copilotkit', ['provider']],
  ['kortyx', ['stream']],
  ['responses', ['client']],
  ['plain-fetch', ['state', 'events', 'send']],
];

export function guides(folder) {
  return {
    name: 'guides',
    resolveId: (id) => (id === 'virtual:guides' ? `\0${id}` : undefined),
    load(id) {
      if (id !== '\0virtual:guides') return undefined;
      const all = LIBRARIES.map(([name, blocks]) => {
        const path = join(folder, `${name}.md`);
        this.addWatchFile(path);
        const text = readFileSync(path, 'utf8');
        const [, title, about] = /^# (.+)\n\n([^]+?)\n\n/.exec(text);
        return { name, title, about: plain(about), code: blocks.map((block) => codeOf(text, block, path)).join('\n\n') };
      });
      return `export default ${JSON.stringify(all)};`;
    },
  };
}

function codeOf(text, block, path) {
  const found = new RegExp(`<!-- code: \\S+#${block} -->\\n\`\`\`\\w*\\n([^]*?)\\n\`\`\``).exec(text);
  if (!found) throw new Error(`${path} has no code block "${block}"`);
  return found[1];
}

/** The first paragraph without its links. */
const plain = (markdown) => markdown.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '').replaceAll('\n', ' ');
