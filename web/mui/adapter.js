// A `ChatAdapter` of MUI X Chat for a Headwater server.
//
//   import { createHeadwaterAdapter } from './adapter.js';
//   <ChatBox adapter={createHeadwaterAdapter({ url: 'https://example.com/v1/mui/chat' })} … />
//
// MUI has no wire format: its client is given parsed chunks. This adapter reads the server's envelopes, comes back by
// itself after a cut (MUI's own reconnection loses the open text and is tried only once), and tells failures, which
// MUI's chunks cannot say.

/** How often a cut stream is asked for again without a new chunk in between, and how long it waits each time. */
const ATTEMPTS = 8;
const PAUSE = 250;

/**
 * `url` is where the dialect `mui` is served. `agent` picks one of several. `headers` is an object, or a function that
 * gives one, for credentials. `fetch` replaces the global one.
 */
export function createHeadwaterAdapter({ url, agent, headers, fetch = globalThis.fetch }) {
  const listeners = new Set();
  /** What is being read: stopping needs its conversation and its message. */
  let current = null;

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

  const stream = (body, signal) => {
    const reading = { conversationId: body.conversationId, messageId: undefined, runId: undefined, after: undefined };
    current = reading;
    const key = globalThis.crypto.randomUUID();
    const first = () => ask(address(), { body, signal, headers: { 'idempotency-key': key } });
    const again = () => {
      // Where nothing came at all the server may not know of it: the same key makes it the same request.
      if (reading.messageId === undefined) return first();
      const { conversationId, messageId, runId, after } = reading;
      return ask(address('/stream', { conversationId, messageId, runId, after }), { signal });
    };
    return chunks(first, again, reading, listeners, signal);
  };

  return {
    async sendMessage({ conversationId, message, messages, signal }) {
      return stream({ conversationId, message, messages }, signal);
    },

    async regenerate({ conversationId, messageId, message, messages, signal }) {
      return stream({ conversationId, messageId, message, messages }, signal);
    },

    async addToolApprovalResponse({ id, approved, reason }) {
      await checked(await ask(address(), { body: { conversationId: current?.conversationId, id, approved, reason } }));
    },

    /** Answers a question (`data-interrupt`). Not a method of MUI's: the page calls it. */
    async answer({ requestId, token, answer }) {
      await checked(await ask(address(), { body: { conversationId: current?.conversationId, requestId, token, answer } }));
    },

    stop() {
      if (!current) return;
      const { conversationId, messageId, runId } = current;
      void ask(address('/stop'), { body: { conversationId, messageId, runId } }).catch(() => {});
    },

    async listConversations() {
      const response = await checked(await ask(address()));
      return response.json();
    },

    async listMessages({ conversationId, cursor, direction }) {
      const response = await checked(await ask(address('', { conversationId, cursor, direction })));
      return response.json();
    },

    subscribe({ onEvent }) {
      listeners.add(onEvent);
      return () => listeners.delete(onEvent);
    },
  };
}

async function checked(response) {
  if (response.ok) return response;
  const text = await response.text();
  throw new Error(text || `the server answered ${response.status}`);
}

/** One stream of envelopes for MUI, over as many connections as it takes. */
function chunks(first, again, reading, listeners, signal) {
  const items = envelopes(first, again, reading, signal);
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { value, done } = await items.next();
          if (done) return controller.close();
          const { chunk } = value;
          // The parts that stay when an attempt is taken back: exactly here, between the chunks around it.
          if (chunk.type === 'message-updated') {
            for (const tell of listeners) tell({ type: 'message-updated', message: chunk.message });
          }
          controller.enqueue(value);
        } catch (error) {
          // A plain error is shown with its text.
          controller.error(error);
        }
      },
      async cancel() {
        await items.return();
      },
    },
    { highWaterMark: 0 },
  );
}

async function* envelopes(first, again, reading, signal) {
  let attempts = 0;
  for (let open = first; ; open = again) {
    try {
      const response = await open();
      if (response.status >= 500) throw new Error(`the server answered ${response.status}`);
      if (!response.ok) throw new Refused(await response.text());
      for await (const envelope of parsed(response.body)) {
        const { chunk, sequence } = envelope;
        if (chunk === undefined || (reading.after !== undefined && sequence <= reading.after)) continue;
        reading.after = sequence;
        attempts = 0;
        if (chunk.type === 'start') remember(reading, chunk);
        if (chunk.type === 'hw-event' && chunk.event.type === 'run-failed') throw new Refused(chunk.event.message);
        yield envelope;
        if (chunk.type === 'finish' || chunk.type === 'abort') return;
      }
    } catch (error) {
      if (error instanceof Refused) throw new Error(error.message);
      if (signal?.aborted) throw error;
    }
    attempts += 1;
    if (attempts > ATTEMPTS) throw new Error('the connection was lost, and could not be had again');
    await new Promise((resolve) => setTimeout(resolve, attempts === 1 ? 0 : PAUSE));
  }
}

/** The server said no, or the run failed: asking again would change nothing. */
class Refused extends Error {}

function remember(reading, chunk) {
  reading.messageId = chunk.messageId;
  reading.runId = chunk.hw?.before?.find((event) => event.type === 'run-started')?.run;
}

async function* parsed(body) {
  let rest = '';
  for await (const text of decoded(body)) {
    const blocks = (rest + text).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split(/\r?\n/).filter((line) => line.startsWith('data:'));
      if (lines.length > 0) yield JSON.parse(lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n'));
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
