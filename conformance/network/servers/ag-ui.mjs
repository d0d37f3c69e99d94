/** An AG-UI server as its quickstart has it: events of `@ag-ui/core`, written by `@ag-ui/encoder`. The protocol has no way to resume. */
import { EventType } from '@ag-ui/core';
import { EventEncoder } from '@ag-ui/encoder';
import { words } from '../words.mjs';

async function* run(model, { threadId, runId, messages }) {
  yield { type: EventType.RUN_STARTED, threadId, runId };
  const messageId = `msg_${runId}`;
  yield { type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' };
  for await (const delta of words(model, messages.map(({ role, content }) => ({ role, content })))) {
    yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta };
  }
  yield { type: EventType.TEXT_MESSAGE_END, messageId };
  yield { type: EventType.RUN_FINISHED, threadId, runId };
}

export async function plain({ model }) {
  return async (request) => {
    const encoder = new EventEncoder({ accept: 'text/event-stream' });
    const events = run(model, await request.json());
    const body = new ReadableStream({
      async pull(controller) {
        const { value, done } = await events.next();
        if (done) controller.close();
        else controller.enqueue(new TextEncoder().encode(encoder.encode(value)));
      },
      cancel: () => void events.return(),
    });
    return new Response(body, { headers: { 'content-type': encoder.getContentType() } });
  };
}
