// The vendors' own server libraries behind Node's HTTP server, for the load generator of `cargo xtask bench server`.
//
// Prints its address, and exits when its input ends. A request's body is
// `{"deltas":N,"pace":"Turns"|"Ready"|{"Every":N}}`: how many deltas, and whether to yield to the event loop before each,
// or to wait so many microseconds. The path names the case:
//   /node/loop         a loop that writes ready SSE frames to the response
//   /ag-ui/encoder     the same loop with the EventEncoder of @ag-ui/encoder
//   /ai/route          the whole route: streamText with a model at that pace
//   /ai/encoder        createUIMessageStreamResponse on ready chunks
//   /tanstack/encoder  toServerSentEventsResponse on ready chunks

import { createServer } from 'node:http';
import { createUIMessageStreamResponse, streamText } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { toServerSentEventsResponse } from '@tanstack/ai';
import { EventEncoder } from '@ag-ui/encoder';

const turn = () => new Promise((resolve) => setImmediate(resolve));
const pause = (microseconds) => new Promise((resolve) => setTimeout(resolve, microseconds / 1000));

/** As long as the deltas of the other servers: a time in sixteen digits, and the mark that the reader counts. */
const delta = () => `${process.hrtime.bigint().toString(16).padStart(16, '0')}~ `;

/** What comes before, between and after the deltas, each at its pace. */
async function* paced({ deltas, pace }, before, between, after) {
  yield* before;
  for (let number = 0; number < deltas; number += 1) {
    if (pace === 'Turns') await turn();
    else if (pace.Every) await pause(pace.Every);
    yield between(number);
  }
  yield* after;
}

function streamOf(chunks) {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const servers = {
  '/ai/route': (order) => {
    const model = new MockLanguageModelV4({
      doStream: async () => ({
        stream: streamOf(
          paced(
            order,
            [{ type: 'stream-start', warnings: [] }, { type: 'text-start', id: '0' }],
            () => ({ type: 'text-delta', id: '0', delta: delta() }),
            [{ type: 'text-end', id: '0' }, { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage }],
          ),
        ),
      }),
    });
    return streamText({ model, prompt: 'hi' }).toUIMessageStreamResponse();
  },
  '/ai/encoder': (order) =>
    createUIMessageStreamResponse({
      stream: streamOf(
        paced(
          order,
          [{ type: 'start', messageId: 'm' }, { type: 'start-step' }, { type: 'text-start', id: '0' }],
          () => ({ type: 'text-delta', id: '0', delta: delta() }),
          [{ type: 'text-end', id: '0' }, { type: 'finish-step' }, { type: 'finish' }],
        ),
      ),
    }),
  '/tanstack/encoder': (order) =>
    toServerSentEventsResponse(
      paced(
        order,
        [],
        () => ({ type: 'content', id: 'm', model: 'm', timestamp: 1, delta: delta(), content: '', role: 'assistant' }),
        [{ type: 'done', id: 'm', model: 'm', timestamp: 1, finishReason: 'stop' }],
      ),
    ),
};

/** Servers that write to Node's response themselves. */
const loops = {
  '/node/loop': async (order, answer) => {
    const frame = (chunk) => `data: ${JSON.stringify(chunk)}\n\n`;
    const before = [{ type: 'start', messageId: 'm' }, { type: 'text-start', id: '0' }];
    const between = () => ({ type: 'text-delta', id: '0', delta: delta() });
    const after = [{ type: 'text-end', id: '0' }, { type: 'finish' }];
    for await (const chunk of paced(order, before, between, after)) answer.write(frame(chunk));
  },
  '/ag-ui/encoder': async (order, answer) => {
    const encoder = new EventEncoder();
    const before = [
      { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
      { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
    ];
    const between = () => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: delta() });
    const after = [{ type: 'TEXT_MESSAGE_END', messageId: 'm' }, { type: 'RUN_FINISHED', threadId: 't', runId: 'r' }];
    for await (const event of paced(order, before, between, after)) answer.write(encoder.encodeSSE(event));
  },
};

async function bodyOf(request) {
  let body = '';
  for await (const piece of request) body += piece;
  return JSON.parse(body);
}

const server = createServer(async (request, answer) => {
  const loop = loops[request.url];
  if (loop) {
    const order = await bodyOf(request);
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    await loop(order, answer);
    return answer.end();
  }
  const respond = servers[request.url];
  if (!respond) return answer.writeHead(404).end();
  const response = await respond(await bodyOf(request));
  // The load generator wants the connection closed, and some of the libraries want to keep it.
  response.headers.delete('connection');
  answer.writeHead(response.status, Object.fromEntries(response.headers));
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    answer.write(value);
  }
  answer.end();
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 16_384 }, () => {
  console.log(`127.0.0.1:${server.address().port}`);
});
process.stdin.resume().on('end', () => process.exit(0));
