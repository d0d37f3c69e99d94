// The page of `headwater serve` in jsdom, fed with events that try to run a script, to load something from elsewhere, or to change
// what all objects have. jsdom runs the handlers of attributes and `javascript:` links, so that what gets through is seen.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { JSDOM } from 'jsdom';

const PAGE = readFileSync(new URL('../../crates/headwater-cli/src/serve/page.html', import.meta.url), 'utf8');

const PAYLOADS = [
  '<script>pwned()</script>',
  '<img src=x onerror=pwned()>',
  '<svg onload=pwned()>',
  '<svg><script>pwned()</script></svg>',
  '<iframe src="javascript:parent.pwned()"></iframe>',
  '<iframe srcdoc="<script>parent.pwned()</script>"></iframe>',
  '<a href="javascript:pwned()">x</a>',
  '<details open ontoggle=pwned()>',
  '<math><mtext></mtext><mglyph><style><img src=x onerror=pwned()></style></mglyph></math>',
  '"><img src=x onerror=pwned()>',
  "'-pwned()-'",
  '</script><script>pwned()</script>',
  '</style><script>pwned()</script>',
  'javascript:pwned()',
  'data:text/html,<script>pwned()</script>',
  '{{constructor.constructor("pwned()")()}}',
  '`<img src=x onerror=pwned()>` **<img src=x onerror=pwned()>**',
  '| a | b |\n|---|---|\n| <img src=x onerror=pwned()> | `<svg onload=pwned()>` |',
];

/** Every event that the page knows, with a hostile text wherever it shows one. */
const EVENTS = [
  ['block-delta', (x) => ({ kind: 'text', delta: x, id: 'p' })],
  ['block-delta', (x) => ({ kind: 'text', delta: 'x', id: x })],
  ['block-delta', (x) => ({ kind: x, delta: `> ${x}\n- ${x}\n`, id: 'q' })],
  ['message', (x) => ({ content: x })],
  ['block-delta', (x) => ({ kind: 'reasoning', delta: x, id: x })],
  ['tool-input-start', (x) => ({ call: 't', name: x })],
  ['tool-input-delta', (x) => ({ call: 't', delta: x })],
  ['tool-input-available', (x) => ({ call: x, name: x, input: { [x]: x } })],
  ['tool-input-available', (x) => ({ call: 'u', name: x, input: x, executor: 'client' })],
  ['tool-input-error', (x) => ({ call: x, name: x, input: x, error: x })],
  ['approval-requested', (x) => ({ approval: x, call: x, name: x })],
  ['approval-answered', (x) => ({ approval: x, call: x, approved: x })],
  ['tool-output', (x) => ({ call: x, name: x, output: x })],
  ['tool-output', (x) => ({ call: x, name: x, output: { [x]: [x] } })],
  ['tool-output-error', (x) => ({ call: x, name: x, error: x })],
  ['tool-denied', (x) => ({ call: x, name: x, reason: x })],
  ['source-url', (x) => ({ source: x, title: x, url: x })],
  ['source-url', (x) => ({ source: x, url: `https://x.test/${x}` })],
  ['source-document', (x) => ({ source: x, title: x, text: x, filename: x })],
  ['file', (x) => ({ url: x, mediaType: 'image/png' })],
  ['file', (x) => ({ url: `data:image/svg+xml,${x}`, mediaType: x })],
  ['file', (x) => ({ url: `data:text/html,${x}`, mediaType: `image/${x}` })],
  ['data', (x) => ({ name: x, id: x, data: x })],
  ['structured', (x) => ({ streamId: x, dataType: x, kind: 'set', path: 'a', value: x })],
  ['structured', (x) => ({ streamId: 's', dataType: x, kind: 'set', path: x, value: { [x]: x } })],
  ['structured', (x) => ({ streamId: 's2', dataType: x, kind: 'append', path: 'list', items: [x, { [x]: x }] })],
  ['structured', (x) => ({ streamId: 's3', dataType: x, kind: 'text-delta', path: x, delta: x })],
  ['structured', (x) => ({ streamId: 's4', kind: 'final', data: { title: x, columns: [x], rows: [[x]], caption: x } })],
  ['interrupt-answered', (x) => ({ request: x, answer: x })],
  ['interrupt-answered', (x) => ({ request: x, answer: { [x]: x } })],
  ['run-failed', (x) => ({ message: x, code: x })],
];

/** What a run may wait for. */
const WAITS = [
  (x) => ({ request: x, kind: 'approval', tool: { name: x, call: x }, input: { [x]: x } }),
  (x) => ({ request: x, kind: 'client-tool', tool: { name: x, call: x } }),
  (x) => ({ request: x, kind: 'interrupt', interrupt: { kind: 'text', question: x } }),
  (x) => ({ request: x, kind: 'interrupt', interrupt: { kind: 'choice', question: x, options: [{ id: x, label: x, description: x }] } }),
  (x) => ({ request: x, kind: 'interrupt', interrupt: { kind: 'multi-choice', question: x, options: [{ id: x, label: x }] } }),
];

/** Paths that lead out of an object. */
const PATHS = [
  '__proto__.polluted', '__proto__.__proto__.polluted', 'constructor.prototype.polluted', 'a.__proto__.polluted', 'prototype.polluted',
  'toString.polluted', 'a.constructor.prototype.polluted', 'hasOwnProperty.polluted', '__proto__', 'constructor', 'valueOf.call.polluted',
];

/** A page whose server answers with nothing. */
function opened() {
  const known = { version: '0', agents: ['chat'], agent: 'chat', keys: false, lines: [{ name: 'agents', path: '/v1/agents/chat', line: 'curl $BASE/v1/agents/chat' }] };
  const dom = new JSDOM(PAGE.replace('/*SERVER*/', () => JSON.stringify(known).replaceAll('<', '\\u003c')), {
    url: 'http://127.0.0.1:8787/',
    runScripts: 'dangerously',
    pretendToBeVisual: true,
    beforeParse(window) {
      window.crypto.getRandomValues ??= (bytes) => bytes;
      window.fetch = () => new Promise(() => {});
      window.pwned = () => { window.wasPwned = true; };
    },
  });
  const { window } = dom;
  return { window, turn: () => window.eval('shown.push(new Turn({ input: "hello", key: "k", run: "r" })); shown.at(-1)') };
}

/** Fails if anything on the page could run or load something. */
function harmless({ window }, what) {
  const { document } = window;
  assert.ok(!window.wasPwned, `${what}: a script ran`);
  const log = document.querySelector('main');
  assert.equal(log.querySelector('script, iframe, object, embed, svg, math, style, link, base, meta, form[action]'), null, `${what}: an element`);
  for (const element of log.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      assert.ok(!name.startsWith('on') && name !== 'srcdoc', `${what}: ${name}="${value}"`);
      if (name === 'href') assert.match(value, /^https?:/, `${what}: a link`);
      if (name === 'src') assert.match(value, /^data:image\//, `${what}: an image`);
    }
  }
  for (const name of ['Object', 'Function', 'Array', 'String']) {
    const { prototype } = window[name];
    for (const place of [window[name], prototype, prototype.toString, prototype.hasOwnProperty, prototype.valueOf]) {
      assert.ok(!place || !('polluted' in place), `${what}: ${name} is polluted`);
    }
  }
}

let count = 0;
function tried(page, what) {
  count += 1;
  harmless(page, what);
}

test('hostile events run nothing in the page', () => {
  for (const payload of PAYLOADS) {
    const page = opened();
    for (const [name, data] of EVENTS) {
      const turn = page.turn();
      turn.event({ attempt: payload, message: payload, event: { type: name, ...data(payload) } });
      turn.event({ event: { type: payload, delta: payload } });
      turn.drawNow();
      tried(page, `${name} with ${payload}`);
    }
    for (const wait of WAITS) {
      const turn = page.turn();
      turn.waits = [wait(payload)];
      turn.drawNow();
      tried(page, `a wait with ${payload}`);
    }
    page.window.close();
  }
});

test('paths of structured objects change nothing but the object', () => {
  const page = opened();
  for (const path of PATHS) {
    for (const update of [{ kind: 'set', value: 'x' }, { kind: 'append', items: ['x'] }, { kind: 'text-delta', delta: 'x' }]) {
      const turn = page.turn();
      turn.event({ event: { type: 'structured', streamId: 's', dataType: 't', path, ...update } });
      turn.drawNow();
      tried(page, `${update.kind} at ${path}`);
    }
  }
  const turn = page.turn();
  const at = (path, update) => turn.event({ event: { type: 'structured', streamId: 's', dataType: 't', path, ...update } });
  at('a.b', { kind: 'set', value: 1 });
  at('a.list', { kind: 'append', items: [1, 2] });
  at('a.list', { kind: 'append', items: [3] });
  at('text', { kind: 'text-delta', delta: 'hel' });
  at('text', { kind: 'text-delta', delta: 'lo' });
  assert.equal(JSON.stringify(turn.parts[0].data), '{"a":{"b":1,"list":[1,2,3]},"text":"hello"}', 'good paths do what they did');
  page.window.close();
});

test('the count is told', () => {
  console.log(`# told: hostile page events | ${count.toLocaleString('en')} | 0 through`);
});
