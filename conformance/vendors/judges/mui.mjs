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
    const result = await processStream(store, envelopes(response.body, store), {
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
 * SSE bytes as the parsed envelopes that `processStream` reads, one when it asks for one: what is for the adapter
 * is done exactly between the chunks around it. The client ignores it, and counts its number.
 */
export function envelopes(body, store) {
  const items = parsed(body);
  let failure = null;
  return new ReadableStream(
    {
      async pull(controller) {
        const { value, done } = await items.next();
        if (done) {
          // A plain error is shown with its text; a silent end would be "closed before a terminal chunk".
          if (failure) controller.error(new Error(failure));
          else controller.close();
          return;
        }
        const chunk = value?.chunk ?? value;
        if (chunk?.type === 'message-updated') store.updateMessage(chunk.message.id, chunk.message);
        if (chunk?.type === 'error') failure = chunk.errorText;
        controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* parsed(body) {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const data = dataOf(block);
      if (data !== null && data !== '[DONE]') yield JSON.parse(data);
    }
  }
}

function dataOf(block) {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? null : lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n');
}
