// The tutorial in Chromium: its first step in the studio, and its page, which is reloaded while the question is open.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch } from '../browser/lib/browser.mjs';
import { Server } from '../clients/lib/server.mjs';
import { until } from '../clients/lib/until.mjs';
import { PATIENCE } from './lib/patience.mjs';

const binary = process.env.HEADWATER_BINARY ?? new URL('../../target/debug/headwater', import.meta.url).pathname;
const tutorial = await readFile(new URL('../../docs/tutorial.md', import.meta.url), 'utf8');
const files = new Map([...tutorial.matchAll(/<!-- file: (\S+) -->\n```\w+\n([^]*?)\n```/g)].map(([, name, text]) => [name, `${text}\n`]));

let folder;
let browser;
const ends = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-tutorial-'));
  ends.push(() => rm(folder, { recursive: true, force: true }));
  browser = await launch();
  ends.push(() => browser.close());
});

after(async () => {
  for (const end of ends.reverse()) await end();
});

/** A server of an agent file in the folder, as the tutorial starts it. */
async function serve(name) {
  const server = await Server.start(binary, { agents: [name], cwd: folder, keepsPort: true });
  ends.push(() => server.stop());
  return server;
}

/** A tab in which nothing may fail. */
async function open(url) {
  const context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE);
  const tab = await context.newPage();
  const faults = [];
  tab.on('pageerror', (error) => faults.push(error.message));
  await tab.goto(url);
  return { tab, faults };
}

/** The command of the tutorial that serves the page, on a free port. */
async function servePage() {
  const [, command] = tutorial.match(/\$ (python3 -m http\.server) 3000/);
  const [program, ...args] = command.split(' ');
  const free = await new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
  const child = spawn(program, [...args, String(free), '--bind', '127.0.0.1'], { cwd: folder, stdio: 'ignore' });
  ends.push(() => child.kill());
  const url = `http://127.0.0.1:${free}/`;
  await until('the page', () => fetch(url).then((response) => response.ok, () => false));
  return url;
}

test('tutorial: step 1 answers in the studio', async () => {
  const [, command] = tutorial.match(/\$ headwater (new hello)\n/);
  const written = spawnSync(binary, command.split(' '), { cwd: folder, encoding: 'utf8' });
  assert.equal(written.status, 0, written.stderr);
  const server = await serve('hello.yaml');
  const { tab, faults } = await open(`http://127.0.0.1:${await server.port}/`);
  await tab.getByRole('textbox').last().fill('Good morning');
  await tab.keyboard.press('Enter');
  await tab.getByText('You said: Good morning').first().waitFor();
  await tab.getByText('No, thank you').first().click();
  const isOver = async () => {
    const { runs } = await (await fetch(`http://127.0.0.1:${await server.port}/v1/runs`)).json();
    return runs.every(({ status }) => status === 'finished');
  };
  await until('the end of the run', isOver);
  assert.deepEqual(faults, []);
});

test('tutorial: step 5 survives a reload and a kill while the question is open', async () => {
  assert.deepEqual([...files.keys()], ['shop.mjs', 'desk.yaml', 'index.html']);
  for (const [name, text] of files) await writeFile(join(folder, name), text);
  const server = await serve('desk.yaml');
  const printed = 'http://127.0.0.1:8787';
  const page = files.get('index.html');
  assert.ok(page.includes(printed));
  await writeFile(join(folder, 'index.html'), page.replace(printed, `http://127.0.0.1:${await server.port}`));

  const { tab, faults } = await open(await servePage());
  await tab.getByRole('button', { name: 'Send' }).click();
  const approve = tab.getByRole('button', { name: 'Approve the refund' });
  await approve.waitFor();
  await tab.reload();
  await tab.getByText('Let me look.').waitFor();
  await approve.waitFor();
  await server.restart();
  await tab.reload();
  await approve.click();
  await tab.getByText('Paid 49 back').waitFor();
  await approve.waitFor({ state: 'detached' });
  await tab.getByText('Done: {"refunded":49}').waitFor();

  // A run that is over reads the same, and asks nothing.
  await tab.reload();
  await tab.getByText('Paid 49 back').waitFor();
  assert.equal(await approve.count(), 0);
  assert.deepEqual(faults, []);
});

test('tutorial: its page removes the text of an attempt that is made again', async () => {
  const server = await Server.start(binary, { keepsPort: true, pace: '30ms' });
  ends.push(() => server.stop());
  const base = `http://127.0.0.1:${await server.port}`;
  const page = files.get('index.html').replace('http://127.0.0.1:8787', base).replace("agent: 'desk'", "agent: 'chat'");
  await writeFile(join(folder, 'index.html'), page);
  const { tab, faults } = await open(await servePage());
  await tab.getByRole('textbox').fill('slow');
  await tab.getByRole('button', { name: 'Send' }).click();
  const text = () => tab.locator('#text').textContent();
  await until('some text', async () => (await text()).length > 10);
  await server.restart();
  const run = new URL(tab.url()).hash.slice(1);
  const isOver = async () => (await (await fetch(`${base}/v1/runs/${run}`)).json()).run.status === 'finished';
  await until('the end of the run', isOver);
  // The same as a page that was opened afterwards.
  const { tab: fresh } = await open(tab.url());
  const whole = async () => (await fresh.locator('#text').textContent()).length;
  await until('the whole text', async () => (await whole()) > 10 && (await text()) === (await fresh.locator('#text').textContent()));
  const events = await (await fetch(`${base}/v1/runs/${run}/events?until=end`)).text();
  assert.match(events, /event: attempt-retracted/);
  assert.deepEqual(faults, []);
});
