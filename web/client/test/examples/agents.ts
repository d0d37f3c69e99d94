import { applyEvent, fromSSE, type UIMessage } from '@headwater/client/agents';

export async function readAnswer(url: string, signal: AbortSignal) {
  let messages: readonly UIMessage[] = [];
  for await (const event of fromSSE(url, { signal })) {
    messages = applyEvent(messages, event);
  }
  return messages;
}
