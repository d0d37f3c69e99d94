// The graph of the timeline.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { stage } from './stage.mjs';

const folder = mkdtempSync(join(tmpdir(), 'studio-graph-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** 30 nodes in a row, but for three branches that meet again, and a question that leads back. */
function thirtyNodes() {
  const name = (at) => `step_${at}`;
  const lines = ['name: thirty', 'workflows:', '  thirty:', '    version: "1"', '    start: step_1', '    nodes:'];
  for (let at = 1; at <= 30; at += 1) {
    lines.push(`      ${name(at)}: ${at === 20 ? '{ interrupt: { ask: Again?, options: [{ id: again, label: Again }, { id: on, label: Further }] } }' : `{ message: "at ${at}" }`}`);
  }
  const edge = (from, to, when) => `      - { from: ${name(from)}, ${when ? `when: "${when}", ` : ''}to: ${name(to)} }`;
  lines.push('    edges:');
  for (let at = 1; at < 30; at += 1) {
    if (at === 5) lines.push(edge(5, 6), edge(5, 7), edge(5, 8));
    else if (at >= 6 && at <= 8) lines.push(edge(at, 9));
    else if (at === 20) lines.push(edge(20, 15, 'again'), edge(20, 21, 'on'));
    else lines.push(edge(at, at + 1));
  }
  return `${lines.join('\n')}\n`;
}
const large = join(folder, 'thirty.yaml');
writeFileSync(large, thirtyNodes());

const demo = stage();
const own = stage({ agents: [large] });
const graphOf = (studio) => studio.page.getByRole('region', { name: 'Graph of the workflow' });

/** What the names of the nodes say of them. */
const states = async (graph) => Object.fromEntries((await graph.locator('.graph-node').evaluateAll((nodes) => nodes.map((node) => node.getAttribute('aria-label')))).map((label) => label.split(', ')));

test('graph: the whole workflow with its conditions, the visited nodes, and the current node', async () => {
  const studio = await demo.open('email');
  await studio.send('Our public beta');
  await studio.ask.waitFor();
  await studio.openTab('Timeline');
  const graph = graphOf(studio);
  await graph.getByText('2 of 3 nodes visited').waitFor();
  assert.deepEqual(await states(graph), { 'compose (reason)': '1 visit', 'approve (interrupt)': 'current', 'sent (message)': 'not visited' });
  assert.deepEqual((await graph.locator('.edge-label').evaluateAll((labels) => labels.map((label) => label.firstChild.textContent))).sort(), ['revise', 'send']);
  assert.equal(await graph.locator('.edge').count(), 5, 'those from the start and to the end are drawn too');
  assert.equal(await graph.locator('.edge.taken').count(), 2);
  const current = graph.getByRole('button', { name: /, current$/ });
  await current.press('Enter');
  await studio.page.getByText('Records of approve').waitFor();
  await studio.press('Revise', studio.ask);
  await graph.getByRole('button', { name: 'compose (reason), 2 visits' }).waitFor();
  await graph.locator('.edge-label.taken', { hasText: 'revise' }).waitFor();
  await studio.press('Send', studio.ask);
  await studio.page.locator('.span.run.good').waitFor();
  await current.waitFor({ state: 'detached' });
  await graph.getByText('3 of 3 nodes visited').waitFor();
  assert.equal(await graph.locator('.edge:not(.taken)').count(), 0);
});

test('graph: nodes of which readers are shown nothing were visited too', async () => {
  const studio = await demo.open('travel');
  await studio.send('3 days in Lisbon in May, relaxed');
  await studio.settled();
  await studio.openTab('Timeline');
  const graph = graphOf(studio);
  await graph.getByText('4 of 5 nodes visited').waitFor();
  await graph.getByRole('button', { name: 'understand, 1 visit' }).waitFor();
  const { understand, ask_pace: askPace, look_up: lookUp, explain } = await states(graph);
  assert.deepEqual([understand, askPace, lookUp, explain], ['1 visit', '1 visit', '1 visit', 'not visited']);
  assert.equal(await graph.locator('.edge.guess').count(), 0);
});

test('graph: visited nodes alone if the server no longer has the agent', async () => {
  const studio = await demo.open('email');
  await studio.page.route('**/v1/agents', async (route) => {
    const response = await route.fetch();
    const { agents, ...rest } = await response.json();
    await route.fulfill({ response, json: { ...rest, agents: agents.map(({ workflows, ...agent }) => agent) } });
  });
  await studio.send('Our public beta');
  await studio.ask.waitFor();
  await studio.page.reload();
  await studio.openTab('Timeline');
  const graph = graphOf(studio);
  await graph.getByText('2 nodes visited', { exact: true }).waitFor();
  assert.deepEqual(await states(graph), { compose: '1 visit', approve: 'current' });
  assert.equal(await graph.locator('.edge').count(), 1);
});

test('graph: 30 nodes lie apart, and the current one is in view', async () => {
  const studio = await own.open('thirty');
  await studio.send('go');
  await studio.ask.waitFor();
  await studio.openTab('Timeline');
  const graph = graphOf(studio);
  await graph.getByText('20 of 30 nodes visited').waitFor();
  const current = graph.getByRole('button', { name: /, current$/ });
  const inView = () => current.evaluate((node) => {
    const [box, frame] = [node, node.closest('.canvas')].map((element) => element.getBoundingClientRect());
    return box.top >= frame.top && box.bottom <= frame.bottom;
  });
  assert.ok(await inView());
  const boxes = await graph.locator('.graph-node rect').evaluateAll((rects) => rects.map((rect) => rect.getBoundingClientRect().toJSON()));
  assert.equal(boxes.length, 30);
  assert.ok(boxes.every(({ height }) => height >= 25), 'texts are not made small');
  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  assert.deepEqual(boxes.filter((box, at) => boxes.some((other, index) => index < at && overlap(box, other))), []);
  const height = () => graph.locator('.canvas').evaluate((canvas) => canvas.clientHeight);
  const before = await height();
  await studio.press('Show all of it');
  assert.ok((await height()) > 3 * before);
});
