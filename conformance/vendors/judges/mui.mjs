// MUI X Chat's `processStream` and `ChatStore`. MUI has no wire format: the adapter that turns bytes
// into its chunks is ours, and this is its smallest form.

import { describe } from './describe.mjs';

export async function mui(fetch) {
  const { processStream } = await import('@mui/x-chat-headless/stream');
  const { ChatStore } = await import('@mui/x-chat-headless/store');
  const response = await fetch();
  const store = new ChatStore({});
  let error = null;
  try {
    const result = await processStream(store, updates(envelopes(response.body), store), {
      messageId: 'fallback',
      conversationId: 'judge',
      flushInterval: 0,
    });
    if (result.isError) error = store.state.error?.message ?? `the stream ended as ${result.status}`;
    else if (store.state.isStreaming) error = 'the store is left streaming';
  } catch (thrown) {
    error = describe(thrown);
  }
  const messages = store.state.messageIds.map((id) => store.state.messagesById[id]);
  return { error, messages };
}

/**
 * What is taken back or replaced comes as `message-updated`, which the page gets as the realtime event of that
 * name. It must not overtake the chunks before it, so a chunk is asked for only when the last one was applied.
 */
function updates(source, store) {
  const reader = source.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        const chunk = value.chunk ?? value;
        if (chunk.type === 'message-updated') {
          const { id, parts } = chunk.message;
          store.updateMessage(id, { parts });
        }
        controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
}

/** SSE bytes as the parsed envelopes that `processStream` reads. */
export function envelopes(body) {
  let rest = '';
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(
    new TransformStream({
      transform(text, controller) {
        const blocks = (rest + text).split(/\r?\n\r?\n/);
        rest = blocks.pop();
        for (const block of blocks) {
          const data = dataOf(block);
          if (data !== null && data !== '[DONE]') controller.enqueue(JSON.parse(data));
        }
      },
    }),
  );
}

function dataOf(block) {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? null : lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n');
}
