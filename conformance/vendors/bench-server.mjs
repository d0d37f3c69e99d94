// The vendors' own server libraries behind Node's HTTP server, for the load generator of `cargo xtask bench server`.
//
// Prints its address, and exits when its input ends. A request's body is
// `{"deltas":N,"pace":"Turns"|"Ready"}`: how many deltas, and whether to yield to the event loop before each.
// The path names the case:
//   /ai/route          the whole route: streamText with a model at that pace
//   /ai/encoder        createUIMessageStreamResponse on ready chunks
//   /tanstack/encoder  toServerSentEventsResponse on ready chunks

import { createServer } from 'node:http';
import { createUIMessageStreamResponse, streamText } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { toServerSentEventsResponse } from '@tanstack/ai';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** As long as the deltas of the other servers: a time in sixteen digits, and the mark that the reader counts. */
const delta = () => `${process.hrtime.bigint().toString(16).padStart(16, '0')}~ `;

/** What comes before, between and after the deltas, each at its pace. */
async function* paced({ deltas, pace }, before, between, after) {
  yield* before;
  for (let number = 0; number < deltas; number += 1) {
    if (pace === 'Turns') await turn();
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

async function bodyOf(request) {
  let body = '';
  for await (const piece of request) body += piece;
  return JSON.parse(body);
}

const server = createServer(async (request, answer) => {
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
