// Our web clients beside those of others, on the same run of a real server, as tables for docs/benchmarks.md.
//
//   HEADWATER_BINARY=../target/release/headwater node bench/run.mjs
//
// `cargo xtask bench web` installs what it needs and calls it. It fails if an aim is missed. `CHROME` names the browser. With
// `--write` the tables are written into the document.

import { readFileSync, writeFileSync } from 'node:fs';
import { agentsToMeasure, DELTAS } from './agents.mjs';
import { measureHooks } from './browser.mjs';
import { measure, recording, subjects } from './reducers.mjs';
import { begin, record, serve } from './server.mjs';
import { measureEntryPoints } from '../size.mjs';
import { measureSizes } from './sizes.mjs';

const binary = process.env.HEADWATER_BINARY;
if (!binary) {
  console.error('HEADWATER_BINARY is not set: it names the server');
  process.exit(2);
}

/** How many times as fast as the fastest other each reducer is to be, on events that are parsed already. */
const LEAST_RATIO = 5;

/** React gives up when one task writes more often. */
const MOST_WRITES = 50;

const DOCUMENT = new URL('../../docs/benchmarks.md', import.meta.url);
const isWriting = process.argv.includes('--write');

/** Each aim, what was found, and whether it is met. */
const aims = [];
const aim = (isMet, text, found) => aims.push([text, found, isMet ? 'met' : 'missed']);

/** The tables by their names, as they are written into the document. */
const tables = new Map();
const whole = (number) => Math.round(number).toLocaleString('en-US');
const times = (ratio) => (ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(1));
const print = (name, heads, rows) => {
  const lines = [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.map((cell) => cell ?? '–').join(' | ')} |`);
  tables.set(name, lines.join('\n'));
  console.log(`${lines.join('\n')}\n`);
};

const server = await serve(binary, agentsToMeasure);
try {
  await reducers();
  await hooks();
  await entryPoints();
} finally {
  await server.stop();
}
print('aims', ['aim', 'found', ''], aims);
const missed = aims.filter(([, , verdict]) => verdict === 'missed');
console.log(missed.length === 0 ? `all ${aims.length} aims are met` : `${missed.length} of ${aims.length} aims are missed`);
if (isWriting) write();
// Some of the clients leave timers behind.
process.exit(missed.length === 0 ? 0 : 1);

/** Puts each table between its marks. */
function write() {
  let text = readFileSync(DOCUMENT, 'utf8');
  for (const [name, table] of tables) {
    const begin = `<!-- written by \`cargo xtask bench web --write\`: ${name} -->\n`;
    const from = text.indexOf(begin);
    const to = text.indexOf('<!-- end -->', from);
    if (from < 0 || to < 0) throw new Error(`docs/benchmarks.md has no place for the table "${name}": ${begin.trim()} … <!-- end -->`);
    text = `${text.slice(0, from + begin.length)}\n${table}\n\n${text.slice(to)}`;
  }
  writeFileSync(DOCUMENT, text);
}

async function reducers() {
  const all = await subjects();
  const { run } = await begin(server.url, 'deltas');
  // One run, read live in every dialect at once: a replay would have its deltas merged.
  const texts = await Promise.all(all.map(({ dialect, profile }) => record(server.url, run, dialect, profile)));
  const measured = [];
  for (const [at, { ours, theirs = {}, ...subject }] of all.entries()) {
    const input = recording(texts[at]);
    const readers = [ours.reduce, ours.each, ours.read, theirs.reduce, theirs.read].filter(Boolean);
    const [reduce, each, read, theirReduce, theirRead] = await measure(readers, input, ' take the river');
    measured.push({ ...subject, reduce, each, read, theirReduce, theirRead });
  }
  const fastest = Math.max(...measured.map(({ theirReduce = 0 }) => theirReduce));
  const ratio = (ours, theirs) => (theirs ? times(ours / theirs) : undefined);
  print(
    'reducers',
    ['stream', 'beside', 'theirs, events/s', 'ours, events/s', 'ratio', 'to the fastest', 'ours, a snapshot each', 'from bytes, theirs', 'from bytes, ours', 'ratio'],
    measured.map((row) => [
      row.profile ? `${row.dialect} (${row.profile})` : row.dialect,
      row.package && `\`${row.package}\``,
      row.theirReduce && whole(row.theirReduce),
      whole(row.reduce),
      ratio(row.reduce, row.theirReduce),
      times(row.reduce / fastest),
      whole(row.each),
      row.theirRead && whole(row.theirRead),
      whole(row.read),
      ratio(row.read, row.theirRead),
    ]),
  );
  for (const { dialect, profile, reduce } of measured) {
    const found = reduce / fastest;
    aim(found >= LEAST_RATIO, `reducer of ${profile ? `${dialect} (${profile})` : dialect}, parsed events: at least ${LEAST_RATIO} × the fastest other`, `${times(found)} ×`);
  }
}

async function hooks() {
  const rows = await measureHooks(server.url, { deltas: DELTAS });
  const sizes = await measureSizes();
  print(
    'pages',
    ['page with', 'renders per 1,000 deltas', 'writes', 'most in one task', 'renders per re-attach', 'writes', 'most in one task', 'heap after 10 more runs', 'grown by', 'KB'],
    rows.map(({ package: name, renders, writes, mostInTask, reattach, heap }) => [
      `\`${name}\``, whole(renders), whole(writes), mostInTask, reattach?.renders, reattach?.writes, reattach?.mostInTask,
      `${(heap.total / 1e6).toFixed(1)} MB`, `${whole((heap.total - heap.first) / 1e3)} kB`, (sizes[name] / 1024).toFixed(1),
    ]),
  );
  console.log(`Alone: ${['@headwater/client', '@headwater/mui'].map((name) => `\`${name}\` ${(sizes[name] / 1024).toFixed(1)} KB`).join(', ')}.\n`);
  const [ours, ...theirs] = rows;
  const attached = theirs.filter(({ reattach }) => reattach);
  const least = (list, field) => Math.min(...list.map((row) => row[field]));
  aim(ours.renders <= least(theirs, 'renders'), 'renders per 1,000 deltas: at most as many as the best other', `${whole(ours.renders)}, beside ${whole(least(theirs, 'renders'))}`);
  aim(ours.writes <= least(theirs, 'writes'), 'writes per 1,000 deltas: at most as many as the best other', `${whole(ours.writes)}, beside ${whole(least(theirs, 'writes'))}`);
  for (const field of ['renders', 'writes']) {
    const fewest = least(attached.map(({ reattach }) => reattach), field);
    aim(ours.reattach[field] <= fewest, `${field} per re-attach: at most as many as the best other`, `${ours.reattach[field]}, beside ${fewest}`);
  }
  const most = Math.max(ours.mostInTask, ours.reattach.mostInTask);
  aim(most <= MOST_WRITES, `writes in one task: at most ${MOST_WRITES}, after which React gives up`, `${most}`);
}

/** Sizes have limits of their own, which `npm run size` checks. */
async function entryPoints() {
  for (const { name, bytes, limit } of await measureEntryPoints()) {
    aim(bytes <= limit, `size of ${name}: at most ${limit / 1024} KB`, `${(bytes / 1024).toFixed(2)} KB`);
  }
}
