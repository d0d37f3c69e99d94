/** The AI SDK's server as its documentation has it: `streamText` behind a route, without and with `resumable-stream`. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { convertToModelMessages, generateId, streamText, UI_MESSAGE_STREAM_HEADERS } from 'ai';

const modelAt = (baseURL) => createOpenAICompatible({ name: 'script', baseURL })('script');

/** "Chatbot": nothing is kept, and the page sends all messages. */
export async function plain({ model }) {
  const script = modelAt(model);
  return async (request) => {
    const { messages } = await request.json();
    const result = streamText({ model: script, messages: await convertToModelMessages(messages) });
    return result.toUIMessageStreamResponse({ originalMessages: messages });
  };
}

/** "Chatbot Message Persistence" and "Chatbot Resume Streams": chats are files, streams are in Redis. */
export async function resumable({ model, redis, folder }) {
  const { createClient } = await import('redis');
  const { createResumableStreamContext } = await import('resumable-stream');
  const [publisher, subscriber] = [createClient({ url: redis }), createClient({ url: redis })];
  await Promise.all([publisher.connect(), subscriber.connect()]);
  const context = createResumableStreamContext({ waitUntil: null, publisher, subscriber });
  const script = modelAt(model);

  const file = (id) => join(folder, `${encodeURIComponent(id)}.json`);
  const read = (id) => {
    try {
      return JSON.parse(readFileSync(file(id), 'utf8'));
    } catch {
      return { messages: [], activeStreamId: null };
    }
  };
  // At once and as a whole, so that neither another change nor a kill leaves half of it.
  const save = (id, changes) => {
    writeFileSync(`${file(id)}.new`, JSON.stringify({ ...read(id), ...changes }));
    renameSync(`${file(id)}.new`, file(id));
  };

  async function chat(request) {
    const { id, messages } = await request.json();
    save(id, { messages, activeStreamId: null });
    const result = streamText({ model: script, messages: await convertToModelMessages(messages) });
    return result.toUIMessageStreamResponse({
      originalMessages: messages,
      generateMessageId: generateId,
      onFinish: ({ messages }) => save(id, { messages, activeStreamId: null }),
      async consumeSseStream({ stream }) {
        const streamId = generateId();
        await context.createNewResumableStream(streamId, () => stream);
        save(id, { activeStreamId: streamId });
      },
    });
  }

  async function resume(id) {
    const { activeStreamId } = read(id);
    if (activeStreamId === null) return new Response(null, { status: 204 });
    return new Response(await context.resumeExistingStream(activeStreamId), { headers: UI_MESSAGE_STREAM_HEADERS });
  }

  return async (request, { pathname }) => {
    if (request.method === 'POST') return chat(request);
    const [, id, what] = pathname.match(/([^/]+)\/(stream|messages)$/);
    return what === 'stream' ? resume(decodeURIComponent(id)) : Response.json(read(decodeURIComponent(id)));
  };
}
