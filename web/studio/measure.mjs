// Measures how the studio copes with much: a run of 50,000 records, and an answer of 2,000 events a second.

import { fakeServer, framesOf } from './test/fake-server.mjs';
import { serveStudio } from './test/serve.mjs';
import { launch } from './test/stage.mjs';

const RECORDS = Number(process.env.RECORDS ?? 50_000);
const RATE = Number(process.env.RATE ?? 2_000);
const SECONDS = Number(process.env.SECONDS ?? 8);

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
  const studio = await serveStudio(() => server.url);
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

async function report(page, name) {
  const { gaps, long } = await page.evaluate(() => window.seen);
  gaps.sort((a, b) => a - b);
  const at = (part) => gaps[Math.floor((gaps.length - 1) * part)].toFixed(0);
  console.log(`${name}: ${(1000 / (gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length)).toFixed(0)} frames/s; between frames p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, most ${at(1)} ms; ${long.length} tasks above 50 ms, longest ${Math.max(0, ...long).toFixed(0)} ms`);
}

try {
  const whole = framesOf([...begin, ...Array.from({ length: RECORDS }, (_, at) => delta(at)), ...finish]);
  for (const [tab, ready] of [['timeline', '.records li'], ['state', '.state-view .status.finished'], ['wire', '.dialect li']]) {
    const before = await pageTime();
    const { page, started, close } = await open({ stream: (response) => response.end(whole), status: 'finished' }, `#/run/run_1/${tab}`);
    await page.locator(ready).first().waitFor();
    const first = Date.now() - started;
    await page.waitForFunction(
      ([name, count]) => (name === 'timeline' ? document.querySelector('.records h3')?.textContent : name === 'wire' ? document.querySelector('.dialect header')?.textContent : `${Number(document.querySelector('input[type=range]')?.max) + 1}`)?.replaceAll(',', '').includes(count),
      [tab, String(RECORDS + 6)],
    );
    const all = Date.now() - started;
    console.log(`open ${(RECORDS + 6).toLocaleString('en')} records in ${tab}: first drawn after ${first} ms, all after ${all} ms, ${((await pageTime()) - before).toFixed(0)} ms of the processor`);
    if (tab === 'timeline') {
      await watch(page);
      for (let step = 0; step < 40; step += 1) {
        await page.locator('.body').evaluate((body, place) => (body.scrollTop = body.scrollHeight * place), step / 40);
        await page.waitForTimeout(30);
      }
      await report(page, '  scrolling');
    }
    await close();
  }
  const total = RATE * SECONDS;
  const answer = Array.from({ length: total }, (_, at) => word(at)).join('');
  /** Sends the run to one reader: to all of them the same, at the same rate. When it has ended, the session has its answer. */
  const live = (onEnd) => (response) => {
    response.write(framesOf(begin));
    let sent = 0;
    const from = Date.now();
    const timer = setInterval(() => {
      const due = Math.min(total, Math.floor(((Date.now() - from) / 1000) * RATE));
      if (due > sent) response.write(framesOf(Array.from({ length: due - sent }, (_, at) => delta(sent + at)), { first: 4 + sent }));
      sent = due;
      if (sent < total) return;
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
