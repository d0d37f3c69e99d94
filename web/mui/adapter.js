// A `ChatAdapter` of MUI X Chat for a Headwater server.
//
//   import { createHeadwaterAdapter } from './adapter.js';
//   <ChatBox adapter={createHeadwaterAdapter({ url: 'https://example.com/v1/mui/chat' })} … />
//
// MUI has no wire format: its client is given parsed chunks. This adapter reads the server's envelopes, reconnects by
// itself after a cut (MUI's own reconnection loses the open text and is tried only once), and reports failures, which
// MUI's chunks cannot express. A conversation that is opened while a run is active, after a reload or in a second tab, is
// followed: MUI's client asks for no stream there.
//
// What goes wrong is reported the way ChatBox shows it. A message that the server refuses, or that cannot be sent, is a
// send error: the message is marked and can be sent again. A run that fails is an error of its answer. A connection that
// is lost for good is a disconnect: `onFinish` gets `isDisconnect`.

import { StreamedMessage } from './message.js';

/** The pause before a request is made again: none at first, then this many milliseconds, doubled up to the limit. */
const PAUSE = 250;
const LONGEST_PAUSE = 4000;
/** How often the message of a followed run is reported at most, in milliseconds: each report draws it anew. */
const REPORT = 40;

/**
 * `url` is where the dialect `mui` is served. `agent` picks one of several. `headers` is an object, or a function that
 * gives one, for credentials. `retries` is how often a lost connection is tried again without a new chunk in between.
 * `fetch` replaces the global one.
 */
export function createHeadwaterAdapter({ url, agent, headers, retries = 8, fetch = globalThis.fetch }) {
  const listeners = new Set();
  /** What is being read: stopping needs its conversation and its message. */
  let current = null;
  /** The conversations whose answer is being read because the page asked for it. */
  const answering = new Set();
  /** The messages that were sent with files, as they were sent, by their ids: MUI keeps only URLs of the page. */
  const sentWithFiles = new Map();
  /** The conversation that was opened last: whether its active run was found, and how to leave it. */
  let followed = { isFound: () => false, leave() {} };

  const address = (path = '', query = {}) => {
    const target = new URL(url, globalThis.location?.href);
    target.pathname += path;
    if (agent) target.searchParams.set('agent', agent);
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined) target.searchParams.set(key, value);
    }
    return target.href;
  };

  const ask = async (target, { body, ...init } = {}) => {
    const own = typeof headers === 'function' ? await headers() : headers;
    return fetch(target, {
      ...init,
      headers: { ...(body ? { 'content-type': 'application/json' } : {}), ...own, ...init.headers },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    });
  };

  const notify = (event) => {
    for (const listener of listeners) listener(event);
  };

  /** An answer counts once, however often it is sent: what the network lost is sent again. */
  const tell = (body) => accepted(() => ask(address(), { body }), retries);

  const stream = async ({ message, messages, ...rest }, signal) => {
    const body = {
      ...rest,
      message,
      // The newest message is sent once. Files of older ones are with the server: a URL of the page means nothing there.
      messages: messages.filter(({ id }) => id !== message.id).map(withoutLocalFiles),
    };
    const { conversationId } = body;
    const reading = { conversationId, messageId: undefined, runId: undefined, lastEventId: undefined };
    current = reading;
    // What has not been found yet would be the run of this very request, and be shown twice.
    if (!followed.isFound()) followed.leave();
    answering.add(conversationId);
    const key = globalThis.crypto.randomUUID();
    const first = () => ask(address(), { body, signal, headers: { 'idempotency-key': key } });
    const end = () => answering.delete(conversationId);
    let response;
    try {
      response = await accepted(first, retries, signal);
    } catch (error) {
      end();
      throw error;
    }
    // Where nothing came at all the server may not know of it: the same key makes it the same request.
    const again = () => (reading.messageId === undefined ? first() : reconnect(reading, signal));
    return chunks(received(response, again, reading, retries, signal), notify, end);
  };

  const reconnect = ({ conversationId, messageId, runId, lastEventId }, signal) => {
    const target = address('/stream', { conversationId, messageId, runId });
    return ask(target, { signal, headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId } });
  };

  /** Reports the message of the run that is active in a conversation, until it ends. */
  const follow = async (conversationId) => {
    followed.leave();
    const controller = new AbortController();
    const { signal } = controller;
    const reading = { conversationId, messageId: undefined, runId: undefined, lastEventId: undefined };
    const again = () => reconnect(reading, signal);
    const streamed = new StreamedMessage(conversationId);
    let timer;
    const report = () => {
      timer = undefined;
      if (signal.aborted || !streamed.message) return;
      notify({ type: 'message-updated', message: streamed.message });
    };
    followed = {
      isFound: () => streamed.message !== undefined,
      leave() {
        clearTimeout(timer);
        controller.abort();
      },
    };
    try {
      const response = await again();
      // Nothing is active.
      if (response.status === 204) return;
      if (!signal.aborted) current = reading;
      for await (const chunk of received(response, again, reading, retries, signal)) {
        streamed.apply(chunk);
        timer ??= setTimeout(report, REPORT);
      }
    } catch {
      // The run failed, or the server is gone: what is there stays, and is marked.
      streamed.fail();
    }
    clearTimeout(timer);
    report();
  };

  return {
    async sendMessage({ conversationId, message, messages, attachments, signal }) {
      const sent = await withFiles(message, attachments);
      if (sent !== message) sentWithFiles.set(message.id, sent);
      const chunks = await stream({ conversationId, message: sent, messages }, signal);
      // MUI takes it for sent when its answer has ended, which a run that waits for a person does not.
      notify({ type: 'message-updated', message: { ...message, status: 'sent' } });
      return chunks;
    },

    async regenerate({ conversationId, messageId, message, messages, signal }) {
      return stream({ conversationId, messageId, message: sentWithFiles.get(message.id) ?? message, messages }, signal);
    },

    async addToolApprovalResponse({ id, approved, reason }) {
      await tell({ conversationId: current?.conversationId, id, approved, reason });
    },

    /**
     * Gives the output of a tool that the page executes. A question is a call of the tool `ask_user`: its output is the
     * answer. Not a method of MUI's: the page calls it.
     */
    async addToolOutput({ toolCallId, output }) {
      await tell({ conversationId: current?.conversationId, toolCallId, output });
    },

    stop() {
      if (!current) return;
      const { conversationId, messageId, runId } = current;
      // The page may be closed in the same moment.
      void ask(address('/stop'), { body: { conversationId, messageId, runId }, keepalive: true }).catch(() => {});
    },

    async listConversations() {
      const response = await accepted(() => ask(address()), retries);
      return response.json();
    },

    async listMessages({ conversationId, cursor, direction }) {
      const response = await accepted(() => ask(address('', { conversationId, cursor, direction })), retries);
      const page = await response.json();
      // The newest page is asked for when the conversation is opened. MUI takes the page before the first event comes,
      // because that needs another request.
      if (cursor === undefined && !answering.has(conversationId)) void follow(conversationId);
      return page;
    },

    subscribe({ onEvent }) {
      listeners.add(onEvent);
      return () => listeners.delete(onEvent);
    },
  };
}

/** The message with its files inside: `blob:` URLs, which MUI gives them, mean nothing outside of the page. */
async function withFiles(message, attachments = []) {
  if (!message.parts.some(isLocal)) return message;
  // MUI makes a part of each attachment, in their order.
  const files = attachments.map(({ file }) => file);
  const parts = message.parts.map(async (part) => {
    if (!isLocal(part)) return part;
    const file = files.shift() ?? (await (await globalThis.fetch(part.url)).blob());
    return { ...part, url: await dataUrl(file, part.mediaType) };
  });
  return { ...message, parts: await Promise.all(parts) };
}

const isLocal = ({ type, url }) => type === 'file' && url.startsWith('blob:');

function withoutLocalFiles(message) {
  return message.parts.some(isLocal) ? { ...message, parts: message.parts.filter((part) => !isLocal(part)) } : message;
}

function dataUrl(file, mediaType) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(new Error(`cannot read ${file.name ?? 'the file'}: ${reader.error.message}`));
    // A file without a type has the one that MUI gave its part.
    reader.readAsDataURL(file.type ? file : new Blob([file], { type: mediaType }));
  });
}

/** The first response that is none of a server in trouble. What the server refuses, it would refuse again. */
async function accepted(request, retries, signal) {
  for (let attempt = 0; ; attempt += 1) {
    let failure;
    try {
      const response = await request();
      if (response.ok) return response;
      failure = new Refused(await reason(response));
      if (response.status < 500) throw failure;
    } catch (error) {
      if (error === failure || signal?.aborted) throw error;
      failure ??= new Error('cannot reach the server: check the connection and try again');
    }
    if (attempt >= retries) throw failure;
    await pause(attempt + 1);
  }
}

/** What the server says about a request that failed. */
async function reason(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    // The page of a proxy is nothing to show.
    return `the server answered ${response.status}`;
  }
}

/**
 * One stream of chunks for MUI, over as many connections as it takes. They come in order and once, so they go without
 * their envelopes: numbers are given again when a run is taken up by another process, and MUI would wait for others.
 */
function chunks(items, notify, onEnd) {
  let begun = false;
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { value: chunk, done } = await items.next();
          if (done) {
            onEnd();
            return controller.close();
          }
          // The parts that stay when an attempt is taken back: exactly here, between the chunks around it.
          if (chunk.type === 'message-updated') notify({ type: 'message-updated', message: chunk.message });
          begun = true;
          controller.enqueue(chunk);
        } catch (error) {
          onEnd();
          // A stream that closes before its end is what MUI calls a disconnect, unless nothing came: that is an empty answer.
          if (error instanceof Lost && begun) return controller.close();
          // A plain error is shown with its text.
          controller.error(new Error(error.message));
        }
      },
      async cancel() {
        onEnd();
        await items.return();
      },
    },
    { highWaterMark: 0 },
  );
}

async function* received(response, again, reading, retries, signal) {
  let attempts = 0;
  const open = new Map();
  for (let request = async () => response; ; request = again) {
    try {
      const response = await request();
      if (response.status >= 500) throw new Error(`the server answered ${response.status}`);
      if (!response.ok) throw new Refused(await reason(response));
      reading.runId = response.headers.get('x-run-id') ?? reading.runId;
      for await (const { id, data } of blocks(response.body)) {
        const { chunk } = JSON.parse(data);
        // A sign of life has no envelope.
        if (chunk === undefined) continue;
        attempts = 0;
        // All is said again: what was shown of it would be there twice.
        if (chunk.type === 'start' && reading.messageId !== undefined) yield* cleared(open, chunk);
        if (chunk.type === 'start') reading.messageId = chunk.messageId;
        if (chunk.type === 'error') throw new Refused(chunk.errorText);
        // What is open may be what only this reader saw of an attempt that died with its process.
        if (chunk.type === 'message-updated') yield* ends(open);
        yield chunk;
        note(open, chunk);
        if (id !== undefined) reading.lastEventId = id;
        if (chunk.type === 'finish' || chunk.type === 'abort') return;
      }
    } catch (error) {
      if (error instanceof Refused || signal?.aborted) throw error;
    }
    attempts += 1;
    if (attempts > retries) throw new Lost('the connection was lost, and could not be had again');
    await pause(attempts);
  }
}

/** The server said no, or the run failed: asking again would change nothing. */
class Refused extends Error {}

/** The connection is gone, and the run may go on without it. */
class Lost extends Error {}

/** Which texts and thoughts are open, by their ids. */
function note(open, { type, id }) {
  const [, kind, what] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? [];
  if (what === 'end') open.delete(`${kind} ${id}`);
  else if (what) open.set(`${kind} ${id}`, { type: `${kind}-end`, id });
}

function* cleared(open, { messageId }) {
  yield* ends(open);
  yield { type: 'message-updated', message: { id: messageId, parts: [] } };
}

function* ends(open) {
  yield* open.values();
  open.clear();
}

/** Waits before the request that is made after so many failures. */
function pause(failures) {
  const milliseconds = failures === 1 ? 0 : Math.min(PAUSE * 2 ** (failures - 2), LONGEST_PAUSE);
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function* blocks(body) {
  let rest = '';
  for await (const text of decoded(body)) {
    const blocks = (rest + text).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split(/\r?\n/);
      const field = (name) => lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ''));
      const data = field('data');
      if (data.length > 0) yield { id: field('id').at(-1), data: data.join('\n') };
    }
  }
}

/** Safari cannot iterate over a body. */
async function* decoded(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
