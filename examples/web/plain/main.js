// A chat page without a library: `fetch`, and the events of the `agents` dialect.

import { markdown } from './markdown.js';
import { AGENTS, address, agent, chatId, getLocation, server } from '../shared/settings.js';

// region: state
const chat = `${server}/v1/agents/${agent}/chat`;
const tools = { get_location: getLocation };

/** Messages with parts, as the AI SDK has them: `{ id, role, parts }`. */
let messages = [];
let busy = false;
let error = null;
// endregion

// region: events
/** Server-Sent Events of a response: `{ event, id, data }`. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = ''; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s)));
        if (fields.data) yield { ...fields, data: JSON.parse(fields.data) };
      }
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
// endregion

// region: apply
/** Adds one event to the messages. */
function apply(event, data) {
  const message = messages.find(({ id }) => id === data.messageId);
  const part = (type, id) => {
    const known = message.parts.find((part) => part.type === type && (part.id ?? part.toolCallId) === id);
    if (!known) message.parts.push({ type, id });
    return known ?? message.parts.at(-1);
  };
  switch (event) {
    case 'message.start':
      // A stream that is read again sends its message from the beginning.
      messages = [...messages.filter(({ id }) => id !== data.messageId), { id: data.messageId, role: data.role, parts: [] }];
      break;
    case 'message.delta':
    case 'reasoning.delta': {
      const text = part(event === 'message.delta' ? 'text' : 'reasoning', data.partId);
      text.text = (text.text ?? '') + data.delta;
      break;
    }
    case 'tool.call':
    case 'tool.result': {
      const { toolName, messageId, ...fields } = data;
      Object.assign(part(`tool-${toolName}`, data.toolCallId), fields);
      break;
    }
    case 'data':
      // All of the object so far.
      part(`data-${data.name}`, data.dataId).data = data.data;
      break;
    case 'source':
      message.parts.push({ type: 'source-url', sourceId: data.sourceId, url: data.url, title: data.title });
      break;
    case 'file':
      message.parts.push({ type: 'file', url: data.url, mediaType: data.mediaType });
      break;
    case 'error':
      error = data.message;
      break;
  }
}
// endregion

// region: follow
/** Reads a run to its end, over as many connections as it takes. */
async function follow(response) {
  let cursor;
  for (let failures = 0; failures < 10; failures += 1) {
    try {
      response ??= await fetch(`${chat}?sessionId=${chatId}`, { headers: cursor ? { 'last-event-id': cursor } : {} });
      // Nothing is active.
      if (response.status === 204) return;
      if (!response.ok) throw new Error((await response.json()).error);
      for await (const { event, id, data } of events(response.body)) {
        failures = 0;
        cursor = id ?? cursor;
        apply(event, data);
        render();
        if (event === 'done' || (event === 'error' && data.terminal)) return;
        // Reading the run again removes the text of a failed attempt.
        if (event === 'status' && data.state === 'retrying') {
          cursor = undefined;
          break;
        }
      }
    } catch (failure) {
      // What the server refuses, it would refuse again.
      if (response?.status >= 400 && response.status < 500) throw failure;
    }
    response = undefined;
    await new Promise((resolve) => setTimeout(resolve, 250 * failures));
  }
  throw new Error('the connection was lost: reload to continue');
}
// endregion

// region: send
/** Sends the conversation as the page shows it. An answer or decision in its last message is the answer. */
async function post() {
  await working(async () => {
    const response = await fetch(chat, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
      body: JSON.stringify({ sessionId: chatId, messages }),
    });
    await follow(response);
    await executeTools();
  });
}

function send(text) {
  messages.push({ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] });
  void post();
}

function answer(part, output) {
  Object.assign(part, { state: 'output-available', output });
  void post();
}

function decide(part, approved) {
  Object.assign(part, { state: 'approval-responded', approval: { ...part.approval, approved } });
  void post();
}

function stop() {
  void fetch(`${server}/v1/sessions/${chatId}/stop`, { method: 'POST', keepalive: true });
}
// endregion

// region: tools
/** Executes the calls of this page's tools, and continues. */
async function executeTools() {
  const calls = messages.at(-1).parts.filter(({ type, state }) => state === 'input-available' && tools[type.slice('tool-'.length)]);
  for (const part of calls) {
    Object.assign(part, { state: 'output-available', output: await tools[part.type.slice('tool-'.length)](part.input) });
  }
  if (calls.length > 0) await post();
}
// endregion

// region: load
/** The conversation as the server has it, and the run that is active in it. */
async function load() {
  await working(async () => {
    const response = await fetch(`${server}/v1/sessions/${chatId}/messages?dialect=agents`);
    if (response.ok) messages = (await response.json()).messages;
    if (messages.length === 0) return;
    await follow();
    await executeTools();
  });
}
// endregion

async function working(work) {
  busy = true;
  error = null;
  render();
  try {
    await work();
  } catch (failure) {
    error = failure.message;
  }
  busy = false;
  render();
}

/** An element with its properties and children; what is null is left out. */
function h(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const button = (label, onclick, className = '') => h('button', { type: 'button', onclick, className }, label);

const SHOW = {
  text: ({ text }) => h('div', { className: 'text' }, markdown(text, h)),
  reasoning: ({ text }) => h('details', { className: 'reasoning' }, h('summary', {}, 'Thoughts'), h('p', {}, text)),
  file: ({ url, mediaType }) => h('img', { src: url, alt: mediaType }),
  // A model may write any URL: `javascript:` is one too.
  'source-url': ({ url, title }) => (/^https?:/.test(url) ? h('a', { className: 'source', href: url }, title ?? url) : null),
  'data-table': ({ data }) => data && h('article', { className: 'card grid' }, h('h3', {}, data.title ?? ''), table(data)),
  'data-email.compose': ({ data }) =>
    data &&
    h(
      'article',
      { className: 'card draft' },
      h('h3', {}, data.subject ?? ''),
      h('p', {}, data.body ?? ''),
      h('ul', {}, (data.bullets ?? []).map((bullet) => h('li', {}, bullet))),
    ),
  'data-itinerary': ({ data }) =>
    data &&
    h(
      'article',
      { className: 'card itinerary' },
      h('h3', {}, data.title ?? ''),
      (data.days ?? []).map(({ day, title, morning, afternoon, evening }) =>
        h('p', {}, h('strong', {}, `Day ${day}: ${title}`), ` ${[morning, afternoon, evening].join('. ')}.`),
      ),
      table({ rows: (data.costs ?? []).map(({ item, euros }) => [item, `€${euros}`]) }),
      data.total === undefined ? null : h('p', {}, `Total: €${data.total}`),
    ),
  'data-support.case': ({ data }) =>
    data &&
    h(
      'article',
      { className: 'card case' },
      h('h3', {}, `Case ${data.order ?? ''}: ${data.status ?? ''}`),
      h('p', {}, data.note ?? ''),
    ),
  'tool-ask_user': (part) =>
    h(
      'section',
      { className: 'card ask' },
      h('p', {}, part.input.question),
      part.state === 'input-available'
        ? part.input.options.map(({ id, label }) => button(label, () => answer(part, id)))
        : h('p', { className: 'answer' }, String(part.output ?? part.errorText)),
    ),
};

function table({ columns = [], rows = [] }) {
  const line = (tag, cells) => h('tr', {}, cells.map((cell) => h(tag, {}, String(cell))));
  return h('table', {}, h('thead', {}, line('th', columns)), h('tbody', {}, rows.map((row) => line('td', row))));
}

function showTool(part) {
  const name = part.type.slice('tool-'.length);
  if (part.state === 'approval-requested') {
    const actions = [button('Approve', () => decide(part, true)), button('Deny', () => decide(part, false), 'quiet')];
    return h('section', { className: 'card ask' }, h('p', {}, `Allow ${name} ${JSON.stringify(part.input)}?`), actions);
  }
  const output = part.errorText ?? (part.output === undefined ? null : JSON.stringify(part.output));
  const card = h('section', { className: 'card tool' }, h('code', {}, name), output && h('pre', {}, output));
  card.dataset.done = String(part.state.startsWith('output-'));
  return card;
}

const show = (part) => SHOW[part.type]?.(part) ?? (part.type.startsWith('tool-') ? showTool(part) : null);

const find = (id) => document.getElementById(id);
let drawing = false;

/** Draws the page, once for all events of a frame. */
function render() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    const suggestions = () => h('section', { className: 'suggestions' }, (AGENTS[agent] ?? ['hello']).map((text) => button(text, () => send(text))));
    find('messages').replaceChildren(
      ...messages.map(({ role, parts }) => h('section', { className: `message ${role}` }, parts.map(show))),
      ...(messages.length === 0 && !busy ? [suggestions()] : []),
      ...(error ? [h('p', { className: 'error' }, error)] : []),
    );
    find('messages').lastElementChild?.scrollIntoView({ block: 'end' });
    find('busy').hidden = !busy;
    find('stop').hidden = !busy;
    find('form').querySelector('button').disabled = busy;
  });
}

find('agents').append(...Object.keys(AGENTS).map((name) => h('a', { href: address(name), ariaCurrent: name === agent ? 'page' : null }, name)));
find('new').href = address(agent);
find('stop').onclick = stop;
find('form').onsubmit = (event) => {
  event.preventDefault();
  const field = event.currentTarget.elements.text;
  const text = field.value.trim();
  if (!text || busy) return;
  field.value = '';
  send(text);
};

await load();
