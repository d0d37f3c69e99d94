/** TanStack AI's server: `chat()` behind a route, without and with its log of streams in memory. */
import { chat, chatParamsFromRequestBody, memoryStream, resumeServerSentEventsResponse, toServerSentEventsResponse } from '@tanstack/ai';
import { words } from '../words.mjs';

const textOf = (content) => (typeof content === 'string' ? content : (content ?? []).map((part) => part.content ?? part.text ?? '').join(''));

/** A provider of TanStack AI: `chatStream` gives AG-UI events. */
const adapterAt = (model) => ({
  kind: 'text',
  name: 'script',
  model: 'script',
  async *chatStream({ messages, threadId = 'thread', runId = 'run' }) {
    const base = { model: 'script', timestamp: Date.now() };
    const messageId = `msg_${runId}`;
    yield { type: 'RUN_STARTED', threadId, runId, ...base };
    yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...base };
    for await (const delta of words(model, messages.map(({ role, content }) => ({ role, content: textOf(content) })))) {
      yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta, ...base };
    }
    yield { type: 'TEXT_MESSAGE_END', messageId, ...base };
    yield { type: 'RUN_FINISHED', threadId, runId, finishReason: 'stop', ...base };
  },
  structuredOutput: async () => ({ data: {}, rawText: '{}' }),
});

async function begin(adapter, request) {
  const { messages, threadId, runId } = await chatParamsFromRequestBody(await request.json());
  return chat({ adapter, messages, threadId, runId });
}

export async function plain({ model }) {
  const adapter = adapterAt(model);
  return async (request) => toServerSentEventsResponse(await begin(adapter, request));
}

/** "Resumable streams": each event is in the log before it is sent. One event at a time, so that the page sees each word when it comes. */
export async function resumable({ model }) {
  const adapter = adapterAt(model);
  return async (request) => {
    const log = memoryStream(request.clone());
    if (request.method === 'GET') return resumeServerSentEventsResponse({ adapter: log });
    return toServerSentEventsResponse(await begin(adapter, request), { durability: { adapter: log, batch: 1 } });
  };
}
