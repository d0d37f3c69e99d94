// The Markdown that models write most: paragraphs, headings, lists, tables, code, emphasis and links. It makes elements and never
// HTML of a text, so nothing that a model writes can run. For all of Markdown, take a library.

const INLINE = /`([^`]+)`|\*\*(.+?)\*\*|(?<![\w*])[*_](\S(?:.*?\S)?)[*_](?![\w*])|\[([^\]]+)\]\((https?:[^\s)]+)\)/g;

/** The elements of a text. `h(tag, properties, ...children)` makes one of them. */
export function markdown(text, h) {
  const lines = text.split('\n');
  const blocks = [];
  /** The next lines that are like this one. */
  const take = (isLike) => {
    const taken = [];
    while (lines.length > 0 && isLike(lines[0])) taken.push(lines.shift());
    return taken;
  };
  while (lines.length > 0) {
    const line = lines[0];
    const heading = /^(#{1,4}) +(.*)/.exec(line);
    if (line.trim() === '') lines.shift();
    else if (line.startsWith('```')) {
      lines.shift();
      // One that is not closed yet is code, too.
      blocks.push(h('pre', {}, h('code', {}, take((next) => !next.startsWith('```')).join('\n'))));
      lines.shift();
    } else if (heading) {
      lines.shift();
      blocks.push(h(`h${heading[1].length}`, {}, inline(heading[2], h)));
    } else if (isItem(line)) {
      const isOrdered = /^\s*\d/.test(line);
      const rows = take((next) => (isItem(next) ? /^\s*\d/.test(next) === isOrdered : /^ {2,}\S/.test(next)));
      // A line that is no item continues the one before.
      const items = rows.reduce((list, row) => (isItem(row) ? [...list, row.replace(ITEM, '')] : [...list.slice(0, -1), `${list.at(-1)} ${row.trim()}`]), []);
      blocks.push(h(isOrdered ? 'ol' : 'ul', {}, items.map((item) => h('li', {}, inline(item, h)))));
    } else if (isRow(line)) blocks.push(table(take(isRow), h));
    else blocks.push(h('p', {}, inline(take((next) => isPlain(next)).join(' '), h)));
  }
  return blocks;
}

const ITEM = /^\s*(?:[-*+]|\d+[.)]) +/;
const isItem = (line) => ITEM.test(line);
const isRow = (line) => /^\s*\|.*\|\s*$/.test(line);
const isPlain = (line) => line.trim() !== '' && !/^(#{1,4} +|```)/.test(line) && !isItem(line) && !isRow(line);

function table(rows, h) {
  const cells = (row) => row.trim().slice(1, -1).split('|').map((cell) => cell.trim());
  const line = (tag, row) => h('tr', {}, cells(row).map((cell) => h(tag, {}, inline(cell, h))));
  const [head, ...body] = rows.filter((row) => !/^[\s|:-]+$/.test(row));
  return h('table', {}, h('thead', {}, line('th', head ?? '||')), h('tbody', {}, body.map((row) => line('td', row))));
}

/** Text with its marks. */
function inline(text, h) {
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const [all, code, strong, emphasis, label, url] = match;
    pieces.push(text.slice(end, match.index));
    end = match.index + all.length;
    if (code) pieces.push(h('code', {}, code));
    else if (url) pieces.push(h('a', { href: url }, label));
    else pieces.push(h(strong ? 'strong' : 'em', {}, ...inline(strong ?? emphasis, h)));
  }
  return [...pieces, text.slice(end)].filter((piece) => piece !== '');
}
