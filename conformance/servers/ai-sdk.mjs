/** The AI SDK's server: `streamText`, and a route to resume a response. */
import { convertToModelMessages, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { answerTo, pieces, tools as known } from './model.mjs';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const schema = jsonSchema({ type: 'object' });
const tools = Object.fromEntries(Object.entries(known).map(([name, options]) => [name, tool({ ...options, inputSchema: schema })]));

const textOf = (content) => (typeof content === 'string' ? content : content.map((part) => part.text ?? '').join(''));
const outputOf = (output) => (output.type === 'execution-denied' ? 'denied' : String(output.value ?? output.reason));

/** What the model is asked: the last user message, and the results since. */
function turnOf(prompt) {
  const from = prompt.findLastIndex(({ role }) => role === 'user');
  const results = prompt.slice(from + 1).filter(({ role }) => role === 'tool');
  const parts = results.flatMap(({ content }) => content).filter(({ type }) => type === 'tool-result');
  return { input: textOf(prompt[from].content), results: parts.map(({ toolName, output }) => ({ tool: toolName, output: outputOf(output) })) };
}

const model = new MockLanguageModelV4({
  doStream: async ({ prompt }) => {
    const { text, call } = answerTo(turnOf(prompt));
    const chunks = call
      ? [{ type: 'tool-call', toolCallId: call.id, toolName: call.tool, input: JSON.stringify(call.input) }]
      : [{ type: 'text-start', id: '0' }, ...pieces(text).map((delta) => ({ type: 'text-delta', id: '0', delta })), { type: 'text-end', id: '0' }];
    const reason = call ? 'tool-calls' : 'stop';
    const finish = { type: 'finish', finishReason: { unified: reason, raw: reason }, usage };
    return { stream: simulateReadableStream({ chunks: [{ type: 'stream-start', warnings: [] }, ...chunks, finish], chunkDelayInMs: 1 }) };
  },
});

/** The bytes of each chat's last response, for clients that reconnect. */
const kept = new Map();

export async function chat(request) {
  const { id, messages } = await request.json();
  const result = streamText({ model, tools, messages: await convertToModelMessages(messages), stopWhen: stepCountIs(5) });
  return result.toUIMessageStreamResponse({
    originalMessages: messages,
    async consumeSseStream({ stream }) {
      const held = { chunks: [], done: false };
      kept.set(id, held);
      for await (const chunk of stream) held.chunks.push(chunk);
      held.done = true;
    },
  });
}

/** `GET …/{id}/stream`: the response from its beginning, and then live. */
export function resume(id) {
  const held = kept.get(id);
  if (!held) return new Response(null, { status: 204 });
  let at = 0;
  const body = new ReadableStream({
    async pull(controller) {
      while (at >= held.chunks.length && !held.done) await new Promise((resolve) => setTimeout(resolve, 2));
      if (at < held.chunks.length) controller.enqueue(new TextEncoder().encode(held.chunks[at++]));
      else controller.close();
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}
