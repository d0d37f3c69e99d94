// How many events a second each client reduces in Node, from the same run, and how many it reads from bytes.
//
// Each choice favours the vendor: the best of many passes after a warm-up, the smaller of CPU and wall time, no sockets,
// and no hooks. Bytes arrive as on a live connection, one event at a time. Each reader publishes its state as often as it
// does for a page: `ai` after each chunk, MUI and `createChat` every 16 ms.

import { load as loadNewest } from '../../conformance/clients/load.mjs';
import { load } from '../../conformance/vendors/load.mjs';
import { RunReducer, readStream } from '@headwater/client';
import { AgUiReducer, readRun } from '@headwater/client/ag-ui';
import { readMessages as readAiSdk, UIMessageReducer } from '@headwater/client/ai-sdk';
import { ChatMessageReducer, readMessages as readMui } from '@headwater/client/mui';

const SECONDS = 2;
const FLUSH = 16;

/** Applies events to a reducer of ours; snapshots are taken as `createChat` takes them, or after each event. */
const reduce = (create, isEach) => ({ objects }) => {
  const reducer = create();
  let published = performance.now();
  for (let at = 0; at < objects.length; at += 1) {
    reducer.apply(objects[at]);
    if (isEach) reducer.snapshot();
    // Looking at the clock costs more than applying an event.
    else if (at % 100 === 0 && performance.now() - published >= FLUSH) {
      reducer.snapshot();
      published = performance.now();
    }
  }
  return reducer.snapshot();
};

/** The measurements of each dialect. The last thing that a reader gives must have the whole text. */
export async function subjects() {
  const { DefaultChatTransport, readUIMessageStream } = await load('ai');
  const { processStream } = await load('@mui/x-chat-headless/stream');
  const { ChatStore } = await load('@mui/x-chat-headless/store');
  const { createAiSdkAdapter } = await load('@mui/x-chat-headless');
  const { AbstractAgent, HttpAgent } = await load('@ag-ui/client');
  const { from } = await load('rxjs');
  // The newest that speaks AG-UI is installed for the clients; the one of `vendors` is the oldest that is served.
  const { StreamProcessor } = await loadNewest('@tanstack/ai');
  const { fetchServerSentEvents } = await loadNewest('@tanstack/ai-client');

  class Recorded extends AbstractAgent {
    constructor(events) {
      super();
      this.events = events;
    }

    run() {
      return from(this.events);
    }
  }
  const toMessages = async (chunks) => {
    const store = new ChatStore({});
    await processStream(store, chunks, { messageId: 'bench' });
    return store.state.messagesById;
  };
  const respond = ({ body }) => async () => new Response(body(), { headers: { 'content-type': 'text/event-stream' } });
  const createProcessor = () => {
    const processor = new StreamProcessor({});
    processor.startAssistantMessage();
    return processor;
  };

  return [
    {
      dialect: 'native',
      ours: {
        reduce: reduce(() => new RunReducer()),
        each: reduce(() => new RunReducer(), true),
        async read({ body }) {
          const reducer = new RunReducer();
          for await (const record of readStream(body())) reducer.apply(record);
          return reducer.snapshot();
        },
      },
    },
    {
      dialect: 'ai-sdk',
      package: 'ai',
      ours: {
        reduce: reduce(() => new UIMessageReducer()),
        each: reduce(() => new UIMessageReducer(), true),
        read: ({ body }) => last(readAiSdk(body())),
      },
      theirs: {
        reduce: ({ objects }) => last(readUIMessageStream({ stream: pull(objects, (chunk) => chunk) })),
        read: ({ body }) => last(readUIMessageStream({ stream: new DefaultChatTransport({}).processResponseStream(body()) })),
      },
    },
    {
      dialect: 'ag-ui',
      package: '@ag-ui/client',
      ours: {
        reduce: reduce(() => new AgUiReducer()),
        each: reduce(() => new AgUiReducer(), true),
        read: ({ body }) => last(readRun(body())),
      },
      theirs: {
        async reduce({ objects }) {
          const agent = new Recorded(objects);
          await agent.runAgent();
          return agent.messages;
        },
        async read(input) {
          const agent = new HttpAgent({ url: 'http://bench.invalid', fetch: respond(input) });
          await agent.runAgent();
          return agent.messages;
        },
      },
    },
    {
      dialect: 'ag-ui',
      profile: 'tanstack',
      package: '@tanstack/ai',
      ours: {
        reduce: reduce(() => new AgUiReducer()),
        each: reduce(() => new AgUiReducer(), true),
        read: ({ body }) => last(readRun(body())),
      },
      // Not `ChatClient`, which waits for a timer after each chunk.
      theirs: {
        reduce({ objects }) {
          const processor = createProcessor();
          for (const chunk of objects) processor.processChunk(chunk);
          processor.finalizeStream();
          return processor.getMessages();
        },
        async read(input) {
          const connection = fetchServerSentEvents('http://bench.invalid', { fetchClient: respond(input) });
          const processor = createProcessor();
          for await (const chunk of connection.connect([], {})) processor.processChunk(chunk);
          processor.finalizeStream();
          return processor.getMessages();
        },
      },
    },
    {
      dialect: 'mui',
      package: '@mui/x-chat-headless',
      ours: {
        reduce: reduce(() => new ChatMessageReducer()),
        each: reduce(() => new ChatMessageReducer(), true),
        read: ({ body }) => last(readMui(body())),
      },
      theirs: {
        reduce: ({ objects }) => toMessages(pull(objects, (chunk) => chunk)),
        // Its only reader of bytes takes chunks of its own too.
        async read({ body }) {
          const adapter = createAiSdkAdapter({ stream: async () => body() });
          const message = { id: 'u', role: 'user', parts: [] };
          return toMessages(await adapter.sendMessage({ message, messages: [message], signal: new AbortController().signal }));
        },
      },
    },
  ];
}

async function last(snapshots) {
  let found;
  for await (const snapshot of snapshots) found = snapshot;
  return found;
}

/** A recorded stream: its bytes, a frame at a time, and its events as objects. */
export function recording(text) {
  const frames = text.split(/(?<=\n\n)/);
  const encoder = new TextEncoder();
  const pieces = frames.map((frame) => encoder.encode(frame));
  const payloads = frames.flatMap((frame) => /^data: ?(?! ?\[DONE\])(.*)$/m.exec(frame)?.[1] ?? []);
  return { payloads, objects: payloads.map((payload) => JSON.parse(payload)), body: () => pull(pieces, (piece) => piece) };
}

function pull(items, give) {
  let next = 0;
  return new ReadableStream({
    pull: (controller) => (next < items.length ? controller.enqueue(give(items[next++])) : controller.close()),
  });
}

/** Events per second of several readers of one recording, which take turns. `end` is what the text ends with. */
export async function measure(runs, input, end) {
  const best = runs.map(() => Infinity);
  for (const [at, run] of runs.entries()) {
    const state = JSON.stringify(await run(input));
    if (!state.includes(end)) throw new Error(`reader ${at} did not read the whole text: ${state.slice(-300)}`);
  }
  const until = performance.now() + runs.length * SECONDS * 1000;
  for (let passes = 0; passes < 5 || performance.now() < until; passes += 1) {
    for (const [at, run] of runs.entries()) best[at] = Math.min(best[at], await timed(run, input));
  }
  return best.map((seconds) => input.objects.length / seconds);
}

async function timed(run, input) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await run(input);
  const wall = (performance.now() - start) / 1e3;
  const { user, system } = process.cpuUsage(cpu);
  return Math.min(wall, (user + system) / 1e6);
}
