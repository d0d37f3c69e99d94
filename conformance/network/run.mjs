// Stock clients on a bad network, against their vendors' servers and against Headwater, as a table and a chart.
//
//   node run.mjs --binary PATH [--conversations N] [--seed N] [--only TEXT] [--write]
//
// `cargo xtask bench network` installs what it needs and calls it. It fails if an answer through Headwater is wrong, or has no end. With
// `--write` the table is written into docs/benchmarks.md, and the chart into docs/images/network.svg.

import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { chart } from './chart.mjs';
import { series } from './series.mjs';
import { subjects } from './subjects.mjs';

const { values } = parseArgs({
  options: {
    binary: { type: 'string' },
    conversations: { type: 'string', default: '24' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    write: { type: 'boolean', default: false },
  },
});
if (!values.binary) throw new Error('--binary must name the built headwater');

const settings = { binary: values.binary, conversations: Number(values.conversations), atOnce: 12, words: 50, pace: 20, chance: 0.01, patience: 30_000, seed: values.seed, load: 40 };
const DOCUMENT = new URL('../../docs/benchmarks.md', import.meta.url);
const CHART = new URL('../../docs/images/network.svg', import.meta.url);
const BEGIN = '<!-- written by `cargo xtask bench network --write` -->\n';

// Clients report cut connections on the console, and some leave rejections behind.
const print = console.log.bind(console);
for (const word of ['log', 'info', 'debug', 'warn']) console[word] = () => {};
if (!process.env.HEADWATER_NETWORK_LOG) console.error = () => {};
process.on('unhandledRejection', () => {});

const rows = [];
for (const subject of subjects.filter(({ client, server }) => `${client} ${server}`.includes(values.only))) {
  const since = performance.now();
  const measured = await series(subject, settings);
  rows.push({ ...subject, ...measured });
  print(`${subject.client}, ${subject.server}: ${JSON.stringify(measured)} in ${Math.round((performance.now() - since) / 1000)} s`);
}

const whole = (number) => Math.round(number).toLocaleString('en-US');
const seconds = (number) => number?.toFixed(1) ?? '–';
const heads = ['client', 'server', 'cuts', 'wrong answers', 'characters twice', 'characters missing', 'without an end', 'errors shown', 'words paid twice', 'live again, s: p50', 'p99', 'CPU ms per 1,000 words', 'KB per live run'];
const cells = rows.map((row) => [
  row.name, row.server, row.cuts, row.wrong, whole(row.duplicated), whole(row.missing), row.withoutEnd, row.errors,
  `${whole(row.paidTwice)} (${Math.round((row.paidTwice / row.needed) * 100)} %)`, seconds(row.p50), seconds(row.p99), whole(row.cpuMs), whole(row.memoryKb),
]);
const table = [heads, heads.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n');
print(`\n${table}\n`);
if (values.write && values.only === '') write();

const isOurs = ({ file }) => file === 'headwater';
const bad = rows.filter((row) => isOurs(row) && row.wrong + row.duplicated + row.missing + row.withoutEnd > 0);
print(bad.length === 0 ? 'every answer through Headwater is whole' : `${bad.length} clients have wrong answers through Headwater`);
process.exit(bad.length === 0 ? 0 : 1);

function write() {
  const text = readFileSync(DOCUMENT, 'utf8');
  const from = text.indexOf(BEGIN);
  const to = text.indexOf('<!-- end -->', from);
  if (from < 0 || to < 0) throw new Error(`docs/benchmarks.md has no place for the table: ${BEGIN.trim()} … <!-- end -->`);
  const note = `${settings.conversations} conversations of 2 turns for each row, seed ${settings.seed}, a ${/release|dist/.test(values.binary) ? 'release' : 'debug'} build of Headwater, on a machine with much else to do (load ${loadavg()[1].toFixed(0)} on 2 cores).`;
  writeFileSync(DOCUMENT, `${text.slice(0, from + BEGIN.length)}\n${table}\n\n${note}\n\n${text.slice(to)}`);
  writeFileSync(CHART, chart(rows));
}
