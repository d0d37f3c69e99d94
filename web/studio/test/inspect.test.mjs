// The rail, the inbox and the inspector.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fakeServer, replay } from './fake-server.mjs';
import { serveStudio } from './serve.mjs';
import { BINARY, getJson, stage } from './stage.mjs';

const here = stage();
const squeezed = (text) => text.replace(/\s/g, '');

/** A conversation that has ended. */
async function ended(agent, text) {
  const studio = await here.open(agent);
  await studio.send(text);
  await studio.settled();
  return studio;
}

test('rail: sessions with title, agent and state; a URL for each', async () => {
  const studio = await ended('table', 'planets');
  const item = studio.page.locator('.sessions li', { hasText: 'planets' });
  await item.getByText('table').waitFor();
  const url = studio.page.url();
  await studio.page.getByRole('link', { name: 'New chat' }).click();
  await studio.page.getByRole('combobox', { name: 'Agent' }).waitFor();
  await item.getByRole('link').click();
  await studio.last.locator('.structured').waitFor();
  assert.equal(studio.page.url(), url);
});

test('rail: a session is deleted after a question', async () => {
  const studio = await ended('flaky', 'delete me');
  studio.page.on('dialog', (dialog) => dialog.accept());
  await studio.page.locator('.sessions li', { hasText: 'delete me' }).hover();
  await studio.press('Delete delete me');
  await studio.page.locator('.sessions li', { hasText: 'delete me' }).waitFor({ state: 'detached' });
  assert.match(studio.page.url(), /#\/new/);
});

test('inbox: what waits in any run is answered there', async () => {
  const studio = await here.open('tools');
  await studio.send('delete notes.txt');
  await studio.ask.waitFor();
  const { session } = studio;
  await studio.page.getByRole('link', { name: /Waits for you/ }).click();
  const card = studio.page.locator('.inbox .waiting', { hasText: 'delete notes.txt' }).first();
  await card.getByRole('button', { name: 'Refuse' }).click();
  await studio.page.getByText('Nothing waits').waitFor();
  await studio.page.locator('.sessions li', { hasText: 'delete notes.txt' }).first().getByRole('link').click();
  await studio.last.locator('details.tool.bad').waitFor();
  assert.equal(studio.session, session);
});

test('timeline: nodes, attempts, tools and waits; a record opens and has a URL', async () => {
  const studio = await here.open('tools');
  await studio.send('everything');
  await studio.ask.nth(1).waitFor();
  await studio.press('Allow');
  await studio.press('Answer');
  await studio.last.getByText('You are in Oslo').waitFor();
  await studio.settled();
  await studio.openTab('Timeline');
  const spans = studio.page.getByRole('list', { name: 'Timeline' });
  for (const kind of ['run', 'node', 'model', 'tool', 'wait']) await spans.locator(`.span.${kind}`).first().waitFor();
  assert.equal(await spans.locator('.span.tool').count(), 4);
  assert.equal(await spans.locator('.span.model').count(), 2);
  await spans.locator('.span.wait').first().click();
  await studio.page.getByText('Records of approval').waitFor();
  await studio.page.locator('.records li button', { hasText: 'approval-requested' }).click();
  await studio.page.locator('.record .json').getByText('"delete_file"').waitFor();
  const url = studio.page.url();
  assert.match(url, /\/timeline\/run_\w+\/\d+$/);
  await studio.page.goto('about:blank');
  await studio.page.goto(url);
  await studio.page.locator('.record .json').getByText('"delete_file"').waitFor();
});

test('timeline: a failed attempt and its reason', async () => {
  const studio = await ended('flaky', 'hello');
  await studio.openTab('Timeline');
  await studio.page.locator('.span.model.bad').waitFor();
  await studio.page.locator('.why', { hasText: 'model.cut' }).waitFor();
});

test('timeline: a node and a model call of which readers are shown nothing, and a question that is waited for until now', async () => {
  const studio = await here.open('travel');
  await studio.send('5 days in Kyoto in autumn');
  await studio.ask.waitFor();
  await studio.openTab('Timeline');
  const spans = studio.page.getByRole('list', { name: 'Timeline' });
  await spans.locator('.span.node', { hasText: 'understand' }).waitFor();
  const call = spans.locator('.span.model', { hasText: 'not shown to readers' });
  await call.waitFor();
  const fact = async (name) => studio.page.locator('.summary > div', { has: studio.page.getByText(name, { exact: true }) }).locator('dd').innerText();
  assert.equal(await fact('Model calls'), '1');
  assert.match(await fact('Tokens'), /^\d+ in, \d+ out$/);
  const wait = spans.locator('.span.wait .numbers');
  const before = await wait.innerText();
  await studio.page.waitForFunction((before) => document.querySelector('.span.wait .numbers')?.textContent !== before, before);
  // In seconds: the question was asked some milliseconds after the last record before it.
  await wait.getByText(/^\d+(\.\d)? s$|min/).waitFor();
  await call.click();
  await studio.page.getByText('none: readers are shown nothing of it').waitFor();
  await studio.press('Relaxed', studio.ask);
  await studio.page.locator('.span.run.good').waitFor();
  const settled = await wait.innerText();
  await studio.page.waitForTimeout(1500);
  assert.equal(await wait.innerText(), settled, 'answered questions no longer wait');
});

test('wire: the same run in every dialect, as raw frames', async () => {
  const studio = await ended('chat', 'Hello');
  await studio.page.evaluate(() => localStorage.setItem('headwater studio dialects', ''));
  await studio.openTab('Wire');
  const run = (await getJson(`${here.base}/v1/sessions/${studio.session}`)).lastRun;
  for (const dialect of ['native', 'ai-sdk', 'ag-ui', 'mui', 'agents', 'kortyx', 'tanstack', 'responses']) {
    await studio.press(dialect);
    const column = studio.page.getByRole('region', { name: dialect, exact: true });
    await column.locator('li').nth(2).waitFor();
    const raw = await (await fetch(`${here.base}/v1/runs/${run}/events?dialect=${dialect}`)).text();
    const frames = raw.split('\n\n').filter((frame) => frame.trim());
    await column.getByText(new RegExp(`^${frames.length} frames · [\\d.]+ KB$`)).waitFor();
    const shown = column.locator('li[data-at]');
    assert.equal(squeezed(await shown.first().textContent()), squeezed(frames[0]));
    // Scrolling on reaches the last frame.
    for (let at = -1; at < frames.length - 1; at = Number(await shown.last().getAttribute('data-at'))) {
      await column.locator('ol').evaluate((list) => (list.scrollTop = list.scrollHeight));
      if (at >= 0) await studio.page.waitForFunction(([label, before]) => Number([...document.querySelectorAll(`.dialect[aria-label="${label}"] li[data-at]`)].at(-1).dataset.at) > before, [dialect, at]);
    }
    assert.equal(squeezed(await shown.last().textContent()), squeezed(frames.at(-1)));
    await studio.press(dialect);
  }
});

test('timeline: a record shows the frames that it became in each dialect', async () => {
  const studio = await ended('chat', 'Hello');
  await studio.openTab('Timeline');
  await studio.page.locator('.records li button', { hasText: 'block-delta' }).first().click();
  const became = studio.page.locator('.became > div');
  assert.equal(await became.count(), 7);
  const seq = Number(new URL(studio.page.url()).hash.split('/').at(-1));
  const run = (await getJson(`${here.base}/v1/sessions/${studio.session}`)).lastRun;
  const records = (await (await fetch(`${here.base}/v1/runs/${run}/events?framing=ndjson`)).text()).trim().split('\n').map((line) => JSON.parse(line));
  const at = records.findIndex((record) => record.seq === seq);
  const tail = async (dialect, cursor) => (await (await fetch(`${here.base}/v1/runs/${run}/events?dialect=${dialect}&after=${cursor}`)).text()).split('\n\n').filter((frame) => frame.trim());
  for (const dialect of ['ai-sdk', 'ag-ui', 'mui', 'agents', 'kortyx', 'tanstack', 'responses']) {
    const [before, after] = await Promise.all([tail(dialect, records[at - 1].cursor), tail(dialect, records[at].cursor)]);
    const expected = before.slice(0, before.length - after.length).map(squeezed);
    const section = became.filter({ has: studio.page.locator('dt', { hasText: new RegExp(`^${dialect} `) }) });
    await section.getByText(expected.length === 0 ? 'nothing' : /^\d+ frames?$/).waitFor();
    assert.deepEqual((await section.locator('.frame').allTextContents()).map(squeezed), expected, dialect);
  }
});

test('a delta that was seen alone and is read together with others is found in their frame', async () => {
  const studio = await here.open('chat');
  await studio.openTab('Timeline');
  await studio.page.evaluate(() => localStorage.setItem('headwater studio dialects', 'native,ai-sdk,kortyx'));
  await studio.send('long');
  await studio.page.locator('.span.run.good').waitFor();
  await studio.settled();
  const row = studio.page.locator('.records li button', { hasText: /river|source/ }).first();
  const [delta] = (await row.locator('.gist').innerText()).trim().split(' ');
  await row.click();
  for (const dialect of ['ai-sdk', 'ag-ui', 'kortyx', 'tanstack']) {
    const section = studio.page.locator('.became > div').filter({ has: studio.page.locator('dt', { hasText: new RegExp(`^${dialect} `) }) });
    await section.locator('.frame', { hasText: delta }).waitFor();
  }
  await studio.page.getByRole('button', { name: 'On the wire' }).click();
  for (const dialect of ['native', 'ai-sdk', 'kortyx']) {
    await studio.page.getByRole('region', { name: dialect, exact: true }).locator('li.now', { hasText: delta }).waitFor();
  }
});

test('timeline: a run is exported as a test that headwater replay runs', async () => {
  const studio = await ended('chat', 'Hello');
  await studio.openTab('Timeline');
  const download = studio.page.waitForEvent('download');
  await studio.press('Export as test');
  const folder = await mkdtemp(join(tmpdir(), 'studio-export-'));
  try {
    const file = join(folder, 'run.tar');
    await (await download).saveAs(file);
    execFileSync('tar', ['xf', file], { cwd: folder });
    const told = execFileSync(BINARY, ['replay', '--golden', join(folder, 'golden')], { encoding: 'utf8' });
    assert.match(told, /6 streams are the same/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('wire: one moment in every dialect, with what differs marked, and a URL', async () => {
  const studio = await ended('chat', 'Hello');
  await studio.page.evaluate(() => localStorage.setItem('headwater studio dialects', 'native,ai-sdk,ag-ui,kortyx'));
  await studio.openTab('Wire');
  const native = studio.page.getByRole('region', { name: 'native', exact: true });
  await native.locator('li', { hasText: 'block-delta' }).nth(1).click();
  assert.match(studio.page.url(), /\/wire\/run_\w+\/\d+$/);
  const marked = async () => {
    for (const dialect of ['native', 'ai-sdk', 'ag-ui', 'kortyx']) {
      const now = studio.page.getByRole('region', { name: dialect, exact: true }).locator('li.now');
      await now.first().waitFor();
      assert.equal(await now.count(), 1, dialect);
      assert.ok((await now.locator('mark').count()) > 0, dialect);
    }
  };
  await marked();
  const delta = JSON.parse((await native.locator('li.now .row.data').innerText()).replace(/^data:/, '')).event.delta;
  for (const dialect of ['ai-sdk', 'ag-ui', 'kortyx']) {
    const text = await studio.page.getByRole('region', { name: dialect, exact: true }).locator('li.now').innerText();
    assert.ok(text.includes(JSON.stringify(delta).slice(1, -1)), `${dialect}: ${delta} in ${text}`);
  }
  await studio.page.reload();
  await marked();
  await studio.page.getByRole('slider', { name: 'Cursor' }).press('Home');
  await native.locator('li.now', { hasText: 'run-started' }).waitFor();
  await studio.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await studio.press('Copy ai-sdk as curl');
  const command = await studio.page.evaluate(() => navigator.clipboard.readText());
  const run = (await getJson(`${here.base}/v1/sessions/${studio.session}`)).lastRun;
  assert.equal(command, `curl -N '${here.base}/v1/runs/${run}/events?dialect=ai-sdk'`);
});

test('wire: a run that waits, and the frames that come after the answer', async () => {
  const studio = await here.open('email');
  await studio.page.evaluate(() => localStorage.setItem('headwater studio dialects', 'native,kortyx'));
  await studio.send('Our public beta');
  await studio.ask.waitFor();
  await studio.openTab('Wire');
  const [native, kortyx] = ['native', 'kortyx'].map((name) => studio.page.getByRole('region', { name, exact: true }));
  await native.locator('li', { hasText: 'interrupt-requested' }).last().click();
  await kortyx.locator('li.now', { hasText: '"interrupt"' }).waitFor();
  await studio.press('Send', studio.ask);
  await native.locator('li', { hasText: 'run-finished' }).waitFor();
  await kortyx.locator('li', { hasText: '"type":"done"' }).waitFor();
});

test('state: the cursor shows what was there, and forks from a checkpoint', async () => {
  const studio = await ended('table', 'rivers');
  await studio.openTab('State');
  const cursor = studio.page.getByRole('slider', { name: 'Cursor' });
  const rows = studio.page.locator('.state-view .snapshot tbody tr');
  await studio.page.locator('.state-view .status', { hasText: 'finished' }).waitFor();
  assert.equal(await rows.count(), 5);
  // Rows that were written in a row are read as one record, so this is a place before it.
  await cursor.fill('5');
  await studio.page.locator('.state-view .status', { hasText: 'running' }).waitFor();
  await studio.page.locator('.state-view .snapshot.user').getByText('rivers', { exact: true }).waitFor();
  const some = await rows.count();
  assert.ok(some < 5, `${some} rows`);
  assert.ok(await studio.page.getByRole('button', { name: 'Fork from here' }).isDisabled());
  await cursor.press('ArrowRight');
  await cursor.press('End');
  const before = studio.session;
  await studio.press('Fork from here');
  await studio.page.waitForFunction((before) => !location.hash.includes(before), before);
  await studio.last.locator('.structured').waitFor();
});

test('state: before its first checkpoint a run continues from the turn before', async () => {
  const studio = await ended('table', 'planets');
  await studio.send('rivers');
  await studio.settled(2);
  await studio.openTab('State');
  const cursor = studio.page.getByRole('slider', { name: 'Cursor' });
  await studio.page.getByText('checkpoint of turn 2', { exact: true }).waitFor();
  await cursor.fill('2');
  await studio.page.getByText('checkpoint of turn 1, before this run', { exact: true }).waitFor();
  const snapshots = studio.page.locator('.state-view .snapshot');
  await snapshots.first().getByText('rivers', { exact: true }).waitFor();
  await studio.press('Show 2 messages of the turns before');
  await snapshots.first().getByText('planets', { exact: true }).waitFor();
  const before = studio.session;
  await studio.press('Fork from here');
  await studio.page.waitForFunction((before) => !location.hash.includes(before), before);
  await studio.settled(1);
  const forked = await getJson(`${here.base}/v1/sessions/${studio.session}`);
  assert.equal(forked.turns, 1);
});

test('state: that of the workflow is shown at each checkpoint', async () => {
  const studio = await here.open('email');
  await studio.send('Our public beta');
  await studio.ask.waitFor();
  await studio.openTab('State');
  const state = studio.page.locator('.state-view section', { has: studio.page.getByRole('heading', { name: /^Workflow state/ }) });
  await state.getByText('at the checkpoint of turn 1').waitFor();
  await state.locator('.key', { hasText: 'draft' }).waitFor();
  const { workflowState } = await getJson(`${here.base}/v1/sessions/${studio.session}/checkpoints/latest`);
  await state.getByText(JSON.stringify(workflowState.draft.subject)).waitFor();
  await studio.page.getByRole('slider', { name: 'Cursor' }).fill('2');
  await state.getByText('the run has none so far').waitFor();
  assert.equal(await state.locator('.key').count(), 0);
});

test('connect: snippets have the address and the agent in them', async () => {
  const studio = await here.open('email');
  await studio.openTab('Connect');
  const code = studio.page.locator('.snippet code').first();
  await studio.page.waitForFunction(() => document.querySelector('.snippet code')?.textContent.includes('/email/'));
  assert.match(await code.innerText(), new RegExp(`api: '${here.base}/v1/ai-sdk/email/chat`));
  const buttons = studio.page.getByRole('group', { name: 'Libraries' }).getByRole('button');
  for (let at = 0; at < (await buttons.count()); at += 1) {
    await buttons.nth(at).click();
    assert.doesNotMatch(await code.innerText(), /\$\{(server|agent)\}/);
  }
});

test('keyboard: tabs and records by the arrow keys', async () => {
  const studio = await ended('table', 'planets');
  await studio.openTab('Timeline');
  await studio.page.locator('.records li button').nth(3).click();
  await studio.page.locator('.record').waitFor();
  const place = () => Number(new URL(studio.page.url()).hash.split('/').at(-1));
  const before = place();
  await studio.page.keyboard.press('ArrowDown');
  await studio.page.waitForFunction((seq) => !location.hash.endsWith(`/${seq}`), before);
  assert.ok(place() > before);
  await studio.page.waitForFunction(() => document.activeElement?.matches('.records li.on > button'));
  await studio.page.keyboard.press('ArrowUp');
  await studio.page.waitForFunction((seq) => location.hash.endsWith(`/${seq}`), before);
  await studio.page.getByRole('tab', { name: 'Timeline' }).focus();
  await studio.page.keyboard.press('ArrowRight');
  await studio.page.getByRole('tabpanel', { name: 'Wire' }).waitFor();
  assert.equal(place(), before, 'the moment is the same in every view');
  await studio.page.keyboard.press('ArrowRight');
  await studio.page.getByRole('tabpanel', { name: 'State' }).waitFor();
  await studio.page.locator('.here', { hasText: `record ${before}` }).waitFor();
});

test('timeline: of 50,000 records those in view are drawn, and the last one is in reach', async () => {
  const deltas = Array.from({ length: 50_000 }, (_, at) => ({ type: 'block-delta', kind: 'text', id: 'b', delta: `${at} ` }));
  const stream = replay([{ type: 'run-started', run: 'run_1', workflow: 'much' }, ...deltas, { type: 'run-finished' }]);
  const server = await fakeServer({ text: 'much', status: 'finished', stream });
  const proxy = await serveStudio(() => server.url);
  try {
    const context = await here.browser.newContext({ viewport: { width: 1360, height: 860 } });
    const page = await context.newPage();
    await page.goto(`${proxy.url}/#/run/run_1/timeline/40000`);
    await page.locator('.record').getByText('40000', { exact: true }).waitFor();
    const list = page.getByRole('list', { name: 'Records', exact: true });
    assert.ok((await list.getByRole('listitem').count()) < 200);
    await page.locator('.body').evaluate((body) => (body.scrollTop = body.scrollHeight));
    await list.getByText('run-finished').waitFor();
    assert.ok((await list.getByRole('listitem').count()) < 200);
    await context.close();
  } finally {
    proxy.close();
    server.close();
  }
});

test('state: sources, files and an answered question are drawn', async () => {
  const studio = await ended('chat', 'Hello');
  await studio.openTab('State');
  const state = studio.page.locator('.state-view .snapshot.assistant');
  await state.getByRole('list', { name: 'Sources' }).waitFor();
  await state.getByRole('img', { name: 'a picture of the answer' }).waitFor();
  const email = await here.open('email');
  await email.send('Our public beta');
  await email.press('Send', email.ask);
  await email.settled();
  await email.openTab('State');
  await email.page.locator('.state-view .answered', { hasText: 'Send' }).waitFor();
});

test('rail and inbox: lists of several pages are read to their end', async () => {
  const server = await fakeServer({ text: 'many', status: 'finished', stream: replay([{ type: 'run-started', run: 'run_1' }, { type: 'run-finished' }]) });
  const waiting = (at) => ({ request: `req_${at}`, run: 'run_1', session: 's', node: 'n', askedAt: '2026-01-01T00:00:00Z', expiresAt: '2026-01-02T00:00:00Z', token: null, kind: 'question', interrupt: { question: `Question ${at}?`, kind: 'text' }, tool: null, input: null });
  const session = (at) => ({ id: `s${at}`, label: `Session ${at}`, createdAt: '2026-01-01T00:00:00Z', updatedAt: '2026-01-01T00:00:00Z', turns: 1, lastRun: 'run_1', activeRun: null, waitingRun: null, forkedFrom: null, queued: 0 });
  /** A list of 300 in pages of 30. */
  const page = (request, name, make) => {
    const from = Number(new URL(request.url, 'http://x').searchParams.get('after') ?? 0);
    return JSON.stringify({ [name]: Array.from({ length: 30 }, (_, at) => make(from + at)), next: from + 30 < 300 ? String(from + 30) : null });
  };
  const lists = { '/v1/interrupts': ['interrupts', waiting], '/v1/sessions': ['sessions', session] };
  const proxy = await serveStudio(() => (request, response) => {
    const list = lists[new URL(request.url, 'http://x').pathname];
    if (!list) return server.handle(request, response);
    response.writeHead(200, { 'content-type': 'application/json' }).end(page(request, ...list));
  });
  try {
    const context = await here.browser.newContext({ viewport: { width: 1360, height: 860 } });
    const tab = await context.newPage();
    await tab.goto(`${proxy.url}/#/inbox`);
    await tab.locator('.badge', { hasText: '210+' }).waitFor();
    await tab.getByRole('button', { name: 'More that waits' }).click();
    await tab.getByText('Question 299?').waitFor();
    assert.equal(await tab.locator('.inbox .ask').count(), 300);
    for (let at = 0; at < 3; at += 1) await tab.getByRole('button', { name: 'Older sessions' }).click();
    await tab.locator('.sessions li', { hasText: 'Session 299' }).waitFor();
    await context.close();
  } finally {
    proxy.close();
    server.close();
  }
});
