// How fast the vendors' own code is, on the very bytes that our bench measured.
//
// Reads HEADWATER_BENCH_DIR/<dialect>.<stream>.{sse,ndjson,jsonl} and prints one line of JSON per measurement:
//   {"dialect","stream","what":"vendor encode"|"vendor decode+reduce","events","seconds"}
//
// Each choice favours the vendor: the best of several passes after a warm-up, the smaller of CPU and wall time,
// no sockets, no timers. Some of the clients cost more per event the longer the answer is; where the whole stream
// would not fit the time, its first `events` are measured, which favours them once more.

import { readdirSync, readFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { DefaultChatTransport, createUIMessageStreamResponse, readUIMessageStream } from 'ai';
import { StreamProcessor, toHttpStream, toServerSentEventsStream } from '@tanstack/ai';
import { fetchHttpStream, fetchServerSentEvents } from '@tanstack/ai-client';
import { processStream } from '@mui/x-chat-headless/stream';
import { ChatStore } from '@mui/x-chat-headless/store';
import { HttpAgent } from '@ag-ui/client';
import { EventEncoder } from '@ag-ui/encoder';

const secondsPerMeasurement = 3;
// A stream is not doubled any more once a pass takes this long; where the cost is quadratic, a pass is then four
// times as long at most.
const secondsPerPass = 0.4;

/** What a vendor's server and client do with a stream: `lines` as on the wire, `chunks` the same as objects. */
const vendors = {
  'ai-sdk': {
    encode: ({ chunks }) => drain(createUIMessageStreamResponse({ stream: streamOf(chunks) }).body),
    async decode({ body }) {
      const chunks = new DefaultChatTransport({}).processResponseStream(streamOf([body]));
      for await (const _ of readUIMessageStream({ stream: chunks }));
    },
  },
  tanstack: {
    encode: ({ chunks, sse }) => drain((sse ? toServerSentEventsStream : toHttpStream)(iterate(chunks))),
    // Not `ChatClient`, which waits for a timer after each chunk.
    async decode({ body, sse }) {
      const connect = sse ? fetchServerSentEvents : fetchHttpStream;
      const connection = connect('http://bench.invalid', { fetchClient: async () => new Response(body) });
      const processor = new StreamProcessor({});
      processor.startAssistantMessage();
      for await (const chunk of connection.connect([], {})) processor.processChunk(chunk);
      processor.finalizeStream();
    },
  },
  mui: {
    // MUI has no encoder; this is the response body that a Node server would make for it.
    encode: ({ chunks }) => drain(sseBody(chunks)),
    async decode({ payloads, whole }) {
      const chunks = payloads.map((payload) => JSON.parse(payload));
      // A raw chunk passes by the sequence, so a sample ends well.
      if (!whole) chunks.push({ type: 'finish', messageId: 'bench' });
      await processStream(new ChatStore({}), streamOf(chunks), { messageId: 'bench' });
    },
  },
  'ag-ui': {
    async encode({ chunks }) {
      const events = new EventEncoder();
      const encoder = new TextEncoder();
      for (const chunk of chunks) encoder.encode(events.encode(chunk));
    },
    async decode({ body }) {
      const agent = new HttpAgent({
        url: 'http://bench.invalid',
        fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
      });
      await agent.runAgent();
    },
  },
};

/** The first `events` of a recorded body, in each form that a vendor may start from. */
function sample(file, events) {
  const sse = file.endsWith('.sse');
  const payloads = [];
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const payload = sse ? (line.startsWith('data:') ? line.slice(5).trimStart() : '') : line;
    if (payload !== '' && payload !== '[DONE]') payloads.push(payload);
  }
  return cut(payloads, sse, events ?? payloads.length);
}

function cut(all, sse, events) {
  const payloads = all.slice(0, events);
  const wire = payloads.map((payload) => (sse ? `data: ${payload}\n\n` : `${payload}\n`)).join('');
  return {
    sse,
    payloads,
    chunks: payloads.map((payload) => JSON.parse(payload)),
    body: new TextEncoder().encode(wire),
    whole: payloads.length === all.length,
    first: (fewer) => cut(all, sse, Math.min(fewer, all.length)),
  };
}

async function measure(run, stream) {
  // Warm up on growing samples, until the stream is whole or one pass takes its share of the time.
  let piece = stream.first(200);
  await timed(run, piece);
  let seconds = await timed(run, piece);
  while (!piece.whole && seconds < secondsPerPass) {
    piece = stream.first(piece.payloads.length * 2);
    seconds = await timed(run, piece);
  }
  const until = performance.now() + secondsPerMeasurement * 1000;
  for (let passes = 0; passes < 3 || (performance.now() < until && passes < 200); passes += 1) {
    seconds = Math.min(seconds, await timed(run, piece));
  }
  return { events: piece.payloads.length, seconds };
}

async function timed(run, piece) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await run(piece);
  const wall = (performance.now() - start) / 1e3;
  const { user, system } = process.cpuUsage(cpu);
  return Math.min(wall, (user + system) / 1e6);
}

function streamOf(items) {
  let next = 0;
  return new ReadableStream({
    pull: (controller) => (next < items.length ? controller.enqueue(items[next++]) : controller.close()),
  });
}

/** Chunks as a response body: each framed, encoded and read by the socket writer. */
function sseBody(chunks) {
  const encoder = new TextEncoder();
  const toBytes = new TransformStream({
    transform: (chunk, controller) => controller.enqueue(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`)),
  });
  return streamOf(chunks).pipeThrough(toBytes);
}

async function* iterate(items) {
  yield* items;
}

async function drain(stream) {
  const reader = stream.getReader();
  while (!(await reader.read()).done);
}

const folder = process.env.HEADWATER_BENCH_DIR;
if (!folder) {
  console.error('HEADWATER_BENCH_DIR is not set: it names the folder with the streams to measure');
  process.exit(2);
}
const files = readdirSync(folder).filter((name) => /\.(sse|ndjson|jsonl)$/.test(name));
for (const file of files.sort()) {
  const [dialect, ...stream] = parse(file).name.split('.');
  const vendor = vendors[dialect];
  if (!vendor) continue;
  const whole = sample(join(folder, file));
  for (const [what, run] of [['vendor encode', vendor.encode], ['vendor decode+reduce', vendor.decode]]) {
    const measured = await measure(run, whole);
    console.log(JSON.stringify({ dialect, stream: stream.join('.'), what, ...measured }));
  }
}
// Some of the clients leave timers behind.
process.exit(0);
