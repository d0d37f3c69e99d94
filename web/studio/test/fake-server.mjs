// A server for one session with one run, for content and amounts that a real server does not give.

import { createServer } from 'node:http';

const TIME = '2026-01-01T00:00:00Z';

/** A cursor, without the signature of a server: the epoch and the number of the record, as bytes of 7 bits. */
function cursor(seq) {
  const bytes = [1];
  for (let rest = seq; ; rest = Math.floor(rest / 128)) {
    bytes.push(rest >= 128 ? (rest % 128) + 128 : rest);
    if (rest < 128) break;
  }
  return Buffer.from([...bytes, 0, 0]).toString('base64url');
}

/** Sends a run that has ended: all of it, or what comes after a cursor. */
export function replay(events) {
  const frames = events.map((event, at) => framesOf([event], { first: at + 1 }));
  // In bytes: what it costs to make them is not a cost of the page.
  const whole = Buffer.from(frames.join(''));
  const places = new Map(frames.map((_, at) => [cursor(at + 1), at + 1]));
  return (response, request) => {
    const after = new URL(request.url, 'http://fake').searchParams.get('after');
    response.end(after ? frames.slice(places.get(after)).join('') : whole);
  };
}

/** The frames of these events, as records of one message. */
export const framesOf = (events, { node = 'answer', first = 1 } = {}) =>
  events.map((event, at) => `id: ${cursor(first + at)}\nevent: ${event.type}\ndata: ${JSON.stringify({ seq: first + at, time: 1_790_000_000_000 + first + at, message: 'msg_run_1', node, event })}\n\n`).join('');

/**
 * Serves a session `s` whose run `run_1` is active until `finish` is called with its answer. `text` is every name and label;
 * `stream` gives the events of the run, by writing to the response. A run that has ended may have an `answer`.
 */
export async function fakeServer({ text, stream, interrupts = [], status = 'running', answer }) {
  const isActive = status === 'running';
  const session = { id: 's', label: text, createdAt: TIME, updatedAt: TIME, turns: 1, lastRun: 'run_1', activeRun: isActive ? 'run_1' : null, waitingRun: null, forkedFrom: null, queued: 0 };
  const run = { id: 'run_1', agent: text, workflow: text, status, error: text, model: text, session: 's', createdAt: TIME };
  const said = { id: 'msg_user_run_1', role: 'user', status: 'sent', parts: [{ type: 'text', id: 't', text, state: 'done' }] };
  const messages = [said];
  const answerWith = (full) => messages.push({ id: 'msg_run_1', role: 'assistant', status: 'sent', parts: [{ type: 'text', id: 'b', text: full, state: 'done' }] });
  if (answer) answerWith(answer);
  const queue = isActive ? [{ run: 'run_2', text, message: {}, label: text, queuedAt: TIME }] : [];
  const watches = new Set();
  const announce = (response) => response.write(`event: session\ndata: ${JSON.stringify(session)}\n\n`);
  const watch = (response) => {
    watches.add(response);
    response.on('close', () => watches.delete(response));
    announce(response);
  };
  const routes = [
    [/^\/v1\/agents/, { agents: [{ name: text, description: text, suggestions: [text] }], default: text }],
    [/^\/v1\/sessions\/s\/messages/, { messages, before: null }],
    [/^\/v1\/sessions\/s\/queue/, { queue }],
    [/^\/v1\/sessions\/s\/checkpoints/, { checkpoints: [], before: null }],
    [/^\/v1\/sessions\/s\/events/, watch],
    [/^\/v1\/sessions\/s/, session],
    [/^\/v1\/sessions/, { agent: text, sessions: [session] }],
    [/^\/v1\/runs\/run_1\/events/, stream],
    [/^\/v1\/runs\/run_1\/trace/, { steps: [], last: 0, hasMore: false }],
    [/^\/v1\/runs\/run_1/, { run, waitsFor: [] }],
    [/^\/v1\/runs/, { runs: [run] }],
    [/^\/v1\/interrupts/, { interrupts }],
  ];
  const handle = (request, response) => {
    const [, body] = routes.find(([path]) => path.test(request.url)) ?? [];
    if (body === undefined) return response.writeHead(404).end('{}');
    if (typeof body !== 'function') return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    body(response, request);
  };
  const server = createServer(handle);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** The run has ended with this text: later requests get it from the session. */
    finish: (full) => {
      if (run.status === 'finished') return;
      run.status = 'finished';
      session.activeRun = null;
      queue.length = 0;
      answerWith(full);
      watches.forEach(announce);
    },
    handle,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
