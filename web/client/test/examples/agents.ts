import { applyEvent, fromSSE, type UIMessage } from '@headwater/client/agents';

export async function readAnswer(url: string, signal: AbortSignal) {
  let messages: UIMessage[] = [];
  for await (const event of fromSSE(url, { signal })) {
    messages = applyEvent(messages, event);
  }
  return messages;
}
