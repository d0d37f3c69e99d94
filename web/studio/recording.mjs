// Records docs/images/two-pages.webp: a page of the AI SDK and the studio on one conversation, and a server that is killed.
//
// Needs `img2webp` (Debian's package webp) and the packages of conformance/pages.

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Server } from '../../conformance/clients/lib/server.mjs';
import { servePages } from '../../conformance/pages/lib/bundle.mjs';
import { BINARY, launch } from './test/stage.mjs';

const OUT = fileURLToPath(new URL('../../docs/images/two-pages.webp', import.meta.url));
const SIZE = { width: 600, height: 640 };
const MOST_BYTES = 2_000_000;

const server = await Server.start(BINARY, { pace: '35ms', keepsPort: true });
const target = `http://127.0.0.1:${await server.port}`;
const pages = await servePages(['example ai-sdk']);
const browser = await launch();
const folder = await mkdtemp(join(tmpdir(), 'headwater-recording-'));

/** Both pages side by side under a caption, as often as pictures can be taken. */
class Recorder {
  frames = [];
  #caption = '';
  #isOn = true;
  #done;

  constructor(stage, left, right) {
    this.#done = this.#record(stage, left, right);
  }

  say(caption, tone = '') {
    this.#caption = [caption, tone];
  }

  async #record(stage, left, right) {
    while (this.#isOn) {
      const from = Date.now();
      const shots = await Promise.all([left, right].map((page) => page.screenshot({ type: 'jpeg', quality: 85 }).catch(() => undefined)));
      await stage.evaluate(
        async ([caption, shots]) => {
          const [text, tone] = caption;
          document.querySelector('#caption').textContent = text ?? '';
          document.querySelector('#caption').className = tone ?? '';
          const images = [...document.images];
          images.forEach((image, at) => shots[at] && (image.src = `data:image/jpeg;base64,${shots[at]}`));
          await Promise.all(images.map((image) => image.decode().catch(() => {})));
        },
        [[...this.#caption], shots.map((shot) => shot?.toString('base64'))],
      );
      const file = join(folder, `${String(this.frames.length).padStart(4, '0')}.png`);
      await writeFile(file, await stage.screenshot({ type: 'png' }));
      this.frames.push({ file, took: Date.now() - from });
    }
  }

  async stop() {
    this.#isOn = false;
    await this.#done;
  }
}

const STAGE = `<!doctype html><style>
  body { margin: 0; background: #e7eceb; font: 600 19px system-ui, sans-serif; color: #12302f; }
  #caption { height: 46px; line-height: 46px; text-align: center; }
  #caption.bad { color: #b3261e; } #caption.good { color: #0b6e4f; }
  main { display: flex; gap: 14px; padding: 0 14px 14px; }
  figure { margin: 0; } figcaption { font-size: 14px; font-weight: 500; padding: 0 2px 6px; color: #45605f; }
  img { display: block; width: ${SIZE.width}px; height: ${SIZE.height}px; border-radius: 10px; background: #fff; }
</style><p id="caption" style="margin:0"></p><main>
  <figure><figcaption>A page with useChat of the AI SDK</figcaption><img></figure>
  <figure><figcaption>The studio</figcaption><img></figure></main>`;

try {
  const open = async (url) => {
    const page = await (await browser.newContext({ viewport: SIZE, colorScheme: 'light' })).newPage();
    await page.goto(url);
    return page;
  };
  const chat = randomUUID();
  const left = await open(`${pages.base}/examples/ai-sdk/?${new URLSearchParams({ server: target, agent: 'travel', chat })}`);
  const right = await open(`${target}/#/new/travel`);
  const stage = await (await browser.newContext({ viewport: { width: SIZE.width * 2 + 42, height: SIZE.height + 86 } })).newPage();
  await stage.setContent(STAGE);
  const recorder = new Recorder(stage, left, right);
  const pause = (milliseconds) => left.waitForTimeout(milliseconds);

  recorder.say('Ask in one page …');
  await pause(900);
  await left.getByRole('textbox').pressSequentially('3 days in Lisbon in May', { delay: 45 });
  await left.getByRole('textbox').press('Enter');
  await pause(700);
  await right.goto(`${target}/#/session/${chat}`);
  recorder.say('… and read it in another: one run, in the protocol of each');
  await left.getByRole('button', { name: 'Packed' }).waitFor();
  await pause(1200);
  await left.getByRole('button', { name: 'Packed' }).click();
  await right.locator('.structured').waitFor();
  await pause(2600);
  recorder.say('kill -9', 'bad');
  const restarted = server.restart({ after: 1600 });
  await pause(1600);
  await restarted;
  recorder.say('The server is started again. The studio reconnects by itself, the other page is reloaded', 'good');
  await left.reload();
  await right.locator('.structured', { hasText: 'total' }).waitFor();
  await left.getByText('Total: €').waitFor();
  recorder.say('Nothing is lost, nothing comes twice', 'good');
  await pause(1800);
  await recorder.stop();

  const frames = recorder.frames.flatMap(({ file, took }) => ['-d', String(took), file]);
  execFileSync('img2webp', ['-loop', '0', '-lossy', '-q', '60', '-m', '4', ...frames, '-o', OUT], { stdio: 'ignore' });
  const { size } = await stat(OUT);
  console.log(`${OUT.split('/').slice(-3).join('/')}: ${recorder.frames.length} pictures, ${size} bytes`);
  if (size > MOST_BYTES) throw new Error(`the recording is larger than ${MOST_BYTES} bytes`);
} finally {
  await browser.close();
  pages.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
