// Measures how the studio copes with much: a run of 50,000 records, and an answer of 2,000 events a second. Fails if an aim is missed.
//
// "Open" is the time from the navigation, with an empty cache, until the view shows what it should for the record that the URL names, and
// has all records: the page is loaded, the conversation with its answer is beside the view, and scrolling or the cursor reaches every
// record. In the wire view the columns of other dialects show their frames for that record, and may still be reading later ones; "all
// read" is when they have them. "First drawn" is when a first part of the run is there. The server that sends the run is Node in this process: it has it in memory.

import { fakeServer, framesOf, replay } from './test/fake-server.mjs';
import { serveStudio } from './test/serve.mjs';
import { launch } from './test/stage.mjs';

const RECORDS = Number(process.env.RECORDS ?? 50_000);
const RATE = Number(process.env.RATE ?? 2_000);
const SECONDS = Number(process.env.SECONDS ?? 8);
const PASSES = Number(process.env.PASSES ?? 3);

/** In milliseconds. */
const OPEN_AIM = 1000;
/** Frames a second. */
const SMOOTH_AIM = 55;
let missed = 0;

/** What each view draws first. */
const FIRST = { timeline: '.records li', state: '.state-view .status', wire: '.dialect li' };

/** Whether the view is open, as defined above. Runs in the page. */
function isOpen({ tab, seq, total, word }) {
  const text = (selector) => document.querySelector(selector)?.textContent ?? '';
  const numberIn = (from) => Number(/([\d,]+) (record|frame)/.exec(from)?.[1].replaceAll(',', ''));
  if (!text('.message.answer')) return false;
  if (tab === 'timeline') return numberIn(text('.records h3')) === total && (seq ? text('.records li.on .seq') === String(seq) && text('.records li.on .record').includes(word) : text('.records li .seq') === '1');
  if (Number(document.querySelector('input[type=range]')?.max) !== total - 1 || !text('.moment .seq').endsWith(` ${seq ?? total}`)) return false;
  if (tab === 'state') return seq ? text('.state-view .snapshot.assistant').trimEnd().endsWith(word) : !!document.querySelector('.state-view .status.finished');
  const columns = [...document.querySelectorAll('.dialect')];
  const framesIn = (column) => Number((column.querySelector('header').textContent.match(/([\d,]+) frames/)?.[1] ?? '').replaceAll(',', ''));
  // The native column has all frames. The others show theirs, and continue reading.
  return columns.length === 3 && framesIn(columns[0]) === total && columns.every((column) => (seq ? column.querySelector('li.now')?.textContent.includes(word) : framesIn(column) >= 60 && column.querySelector('li[data-at="59"]')));
}

const word = (at) => (at % 60 === 59 ? '.\n\n' : ` word${at}`);
const begin = [
  { type: 'run-started', run: 'run_1', session: 's', workflow: 'measure' },
  { type: 'message-started', message: 'msg_run_1', role: 'assistant' },
  { type: 'block-started', kind: 'text', id: 'b' },
];
const lastWord = Array.from({ length: 60 }, (_, at) => word(RATE * SECONDS - 1 - at)).find((text) => text.includes('word')).trim();
const delta = (at) => ({ type: 'block-delta', kind: 'text', id: 'b', delta: word(at) });
const finish = [{ type: 'block-ended', kind: 'text', id: 'b' }, { type: 'message-finished' }, { type: 'run-finished' }];

const browser = await launch();
const processes = await browser.newBrowserCDPSession();

/** The processor time of all pages so far, in milliseconds: what a busy machine does not change. */
async function pageTime() {
  const { processInfo } = await processes.send('SystemInfo.getProcessInfo');
  return processInfo.filter(({ type }) => type === 'renderer').reduce((sum, { cpuTime }) => sum + cpuTime * 1000, 0);
}

/** A page of the studio in front of a server that was made for it. */
async function open(options, hash, viewport = { width: 1360, height: 860 }) {
  const server = await fakeServer({ text: 'measure', ...options });
  const studio = await serveStudio(() => server.handle);
  const page = await (await browser.newContext({ viewport })).newPage();
  const started = Date.now();
  await page.goto(`${studio.url}/${hash}`);
  return { page, started, server, close: async () => { await page.context().close(); studio.close(); server.close(); } };
}

/** Collects the times between frames, and the tasks that held the page up. */
const watch = (page) =>
  page.evaluate(() => {
    const seen = { gaps: [], long: [] };
    window.seen = seen;
    new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => seen.long.push(duration))).observe({ type: 'longtask' });
    let last = performance.now();
    const tick = (now) => {
      seen.gaps.push(now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });

async function scroll(page) {
  await watch(page);
  for (let step = 0; step < 40; step += 1) {
    await page.locator('.body').evaluate((body, place) => (body.scrollTop = body.scrollHeight * place), step / 40);
    await page.waitForTimeout(30);
  }
  await report(page, 'scrolling the records', 0);
}

async function report(page, name, least = SMOOTH_AIM) {
  const { gaps, long } = await page.evaluate(() => window.seen);
  gaps.sort((a, b) => a - b);
  const at = (part) => gaps[Math.floor((gaps.length - 1) * part)].toFixed(0);
  const rate = 1000 / (gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length);
  const isMet = Math.round(rate) >= least;
  missed += isMet ? 0 : 1;
  console.log(`${name}: ${rate.toFixed(0)} frames/s; between frames p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, most ${at(1)} ms; ${long.length} tasks above 50 ms, longest ${Math.max(0, ...long).toFixed(0)} ms${least ? `; aim ${least} frames/s ${isMet ? 'met' : 'missed'}` : ''}`);
}

try {
  const stream = replay([...begin, ...Array.from({ length: RECORDS }, (_, at) => delta(at)), ...finish]);
  const said = Array.from({ length: RECORDS }, (_, at) => word(at)).join('');
  const total = RECORDS + begin.length + finish.length;
  const middle = Math.floor(RECORDS / 2);
  for (const [tab, seq] of [['timeline'], ['timeline', middle], ['state'], ['state', middle], ['wire'], ['wire', middle]]) {
    const times = [];
    for (let pass = 0; pass < PASSES; pass += 1) {
      const before = await pageTime();
      const { page, started, close } = await open({ stream, status: 'finished', answer: said }, `#/run/run_1/${tab}${seq ? `/${seq}` : ''}`);
      await page.locator(FIRST[tab]).first().waitFor();
      const first = Date.now() - started;
      await page.waitForFunction(isOpen, { tab, seq, total, word: word(middle - begin.length - 1).trim() });
      const all = Date.now() - started;
      if (tab === 'wire') await page.waitForFunction((count) => [...document.querySelectorAll('.dialect header')].every(({ textContent }) => textContent.includes(`${count} frames`)), total.toLocaleString('en'));
      times.push({ all, read: Date.now() - started, first, processor: (await pageTime()) - before });
      if (tab === 'timeline' && !seq && pass === 0) await scroll(page);
      await close();
    }
    const { all, first, read, processor } = times.sort((a, b) => a.all - b.all)[0];
    const isMet = all < OPEN_AIM;
    console.log(`open ${total.toLocaleString('en')} records in ${tab}${seq ? ` at record ${seq.toLocaleString('en')}` : ''}: ${all} ms, first drawn after ${first} ms, ${tab === 'wire' ? `all read after ${read} ms, ` : ''}${processor.toFixed(0)} ms of the processor, best of ${PASSES} (all: ${times.map((time) => time.all).join(', ')} ms); aim ${OPEN_AIM} ms ${isMet ? 'met' : 'missed'}`);
    missed += isMet ? 0 : 1;
  }
  const sentInAll = RATE * SECONDS;
  const answer = Array.from({ length: sentInAll }, (_, at) => word(at)).join('');
  /** Sends the run to one reader: to all of them the same, at the same rate. When it has ended, the session has its answer. */
  const live = (onEnd) => (response) => {
    response.write(framesOf(begin));
    let sent = 0;
    const from = Date.now();
    const timer = setInterval(() => {
      const due = Math.min(sentInAll, Math.floor(((Date.now() - from) / 1000) * RATE));
      if (due > sent) response.write(framesOf(Array.from({ length: due - sent }, (_, at) => delta(sent + at)), { first: 4 + sent }));
      sent = due;
      if (sent < sentInAll) return;
      clearInterval(timer);
      // Before the page learns of the end: it asks for the session then.
      onEnd();
      response.end(framesOf(finish, { first: 4 + sent }));
    }, 10);
    response.on('close', () => clearInterval(timer));
  };
  for (const [name, hash] of [['chat', '#/session/s'], ['chat and timeline', '#/session/s/timeline'], ['chat and wire', '#/session/s/wire']]) {
    let served;
    const { page, server, close } = await open({ stream: live(() => served.finish(answer)) }, hash);
    served = server;
    await page.locator('.message.answer .markdown').waitFor();
    await watch(page);
    await page.locator('.message.answer').getByText(lastWord).waitFor({ timeout: 120_000 });
    await report(page, `${RATE.toLocaleString('en')} events/s for ${SECONDS} s, ${name}`);
    await close();
  }
} finally {
  await browser.close();
}
process.exitCode = missed > 0 ? 1 : 0;
