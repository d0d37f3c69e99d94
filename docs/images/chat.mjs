// Records `headwater chat` in tmux and writes docs/images/chat.svg: node docs/images/chat.mjs target/debug/headwater
//
// Needs tmux. The picture is an SVG that moves by CSS, with one group for each screen.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const binary = resolve(process.argv[2] ?? 'target/debug/headwater');
const output = join(dirname(fileURLToPath(import.meta.url)), 'chat.svg');
const [columns, rows] = [80, 28];
const socket = `headwater-record-${process.pid}`;
const tmux = (...args) => execFileSync('tmux', ['-u', '-L', socket, ...args], { encoding: 'utf8' });
const sleep = (time) => new Promise((done) => setTimeout(done, time));

/** The screens, each with the time at which it was shown. */
const frames = [];
let clock = 0;

function capture(advance) {
  const text = tmux('capture-pane', '-p', '-e', '-N').replace(/\n$/, '');
  const [x, y] = tmux('display-message', '-p', '#{cursor_x} #{cursor_y}').trim().split(' ').map(Number);
  const last = frames.at(-1);
  if (!last || last.text !== text || last.x !== x || last.y !== y) frames.push({ text, x, y, at: clock });
  clock += advance;
}

async function type(text) {
  for (const letter of text) {
    tmux('send-keys', '-l', '--', letter);
    await sleep(60);
    capture(70);
  }
  clock += 300;
  tmux('send-keys', 'Enter');
}

async function until(text, step = 150) {
  for (let tries = 0; tries < 400; tries += 1) {
    await sleep(step);
    capture(step);
    if (tmux('capture-pane', '-p').includes(text)) return;
  }
  throw new Error(`"${text}" was not shown:\n${tmux('capture-pane', '-p')}`);
}

async function record() {
  const environment = { ...process.env, HEADWATER_DEMO_PACE: '40ms', LC_ALL: 'C.UTF-8' };
  const start = ['-u', '-L', socket, '-f', '/dev/null', 'new-session', '-d', '-x', columns, '-y', rows, '--', binary, 'chat'];
  execFileSync('tmux', start.map(String), { env: environment });
  try {
    await until('/help');
    await type('table');
    await until('ask the agent table.');
    clock += 1500;
    await type('/agents tools');
    await until('Calls tools');
    await type('compare Paris and Rome');
    await until('warmer than');
    clock += 1200;
    await type('delete notes.txt');
    await until('y or n');
    clock += 1500;
    await type('y');
    await until('deleted: notes.txt');
    await until('I deleted notes.txt.');
    clock += 500;
    capture(3000);
  } finally {
    tmux('kill-server');
  }
}

const palette = ['#484f58', '#ff7b72', '#3fb950', '#d29922', '#58a6ff', '#bc8cff', '#39c5cf', '#c9d1d9'];
const [cell, line, pad] = [8.4, 18, 14];
const escape = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

/** The pieces of a row, each with its column and its style. */
function pieces(row) {
  const found = [];
  let style = {};
  let column = 0;
  for (const [, codes, text] of row.matchAll(/\x1B\[([\d;]*)m|([^\x1B]+)/g)) {
    if (text === undefined) {
      for (const code of (codes || '0').split(';').map(Number)) {
        if (code === 0) style = {};
        else if (code === 1) style = { ...style, bold: true };
        else if (code === 2) style = { ...style, dim: true };
        else if (code === 3) style = { ...style, italic: true };
        else if (code === 4) style = { ...style, underline: true };
        else if (code >= 30 && code <= 37) style = { ...style, colour: palette[code - 30] };
        else if (code === 39) style = { ...style, colour: undefined };
      }
      continue;
    }
    const width = [...text].length;
    if (text.trim()) found.push({ column, text, width, style });
    column += width;
  }
  return found;
}

function drawRow(row, index) {
  return pieces(row).map(({ column, text, style }) => {
    const lead = text.length - text.trimStart().length;
    const shown = text.trim();
    const marks = [
      `x="${(pad + (column + lead) * cell).toFixed(1)}"`,
      `y="${pad + 30 + index * line}"`,
      `textLength="${([...shown].length * cell).toFixed(1)}"`,
    ];
    const css = [];
    if (style.colour) css.push(`fill:${style.colour}`);
    if (style.bold) css.push('font-weight:700');
    if (style.italic) css.push('font-style:italic');
    if (style.underline) css.push('text-decoration:underline');
    if (style.dim) css.push('opacity:.6');
    if (css.length > 0) marks.push(`style="${css.join(';')}"`);
    return `<text ${marks.join(' ')}>${escape(shown)}</text>`;
  });
}

function draw() {
  const total = clock;
  const [width, height] = [columns * cell + 2 * pad, rows * line + 2 * pad + 24];
  const share = (at) => `${((100 * at) / total).toFixed(2)}%`;
  // Rows that several screens have are written once.
  const known = new Map();
  const styles = [];
  const groups = frames.map((frame, index) => {
    const uses = frame.text.split('\n').map((row, at) => {
      const drawn = drawRow(row, at).join('');
      if (!drawn) return '';
      if (!known.has(drawn)) known.set(drawn, `r${known.size}`);
      return `<use href="#${known.get(drawn)}"/>`;
    });
    const end = frames[index + 1]?.at ?? total;
    const steps = index === 0 ? '0%{opacity:1}' : `0%{opacity:0}${share(frame.at)}{opacity:1}`;
    styles.push(`@keyframes f${index}{${steps}${end < total ? `${share(end)}{opacity:0}` : ''}}`);
    styles.push(`#f${index}{opacity:0;animation:f${index} ${total}ms step-end infinite}`);
    const cursor = `<rect x="${(pad + frame.x * cell).toFixed(1)}" y="${pad + 16 + frame.y * line}" width="${cell}" height="${line}" fill="#c9d1d9" opacity=".5"/>`;
    return `<g id="f${index}">${uses.join('')}${cursor}</g>`;
  });
  const rowsOnce = [...known].map(([drawn, id]) => `<g id="${id}">${drawn}</g>`);
  const lights = ['#ff5f57', '#febc2e', '#28c840'].map((fill, at) => `<circle cx="${18 + at * 18}" cy="16" r="5.5" fill="${fill}"/>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9;white-space:pre}${styles.join('')}</style>`,
    `<defs>${rowsOnce.join('')}</defs>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>${lights.join('')}`,
    ...groups,
    '</svg>',
  ].join('\n');
}

await record();
const picture = draw();
writeFileSync(output, picture);
console.log(`${output}: ${frames.length} screens, ${Math.round(picture.length / 1024)} KiB, ${Math.round(clock / 1000)} s`);
