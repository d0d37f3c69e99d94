// TanStack AI's `ChatClient` over its own SSE connection (the last release with the eight chunks).

import { describe } from './describe.mjs';

export async function tanstack(fetch) {
  const { ChatClient, fetchServerSentEvents } = await import('@tanstack/ai-client');
  const errors = [];
  const client = new ChatClient({
    id: 'judge',
    connection: fetchServerSentEvents('http://judge.invalid/api/chat', { fetchClient: fetch }),
    onError: (error) => errors.push(describe(error)),
  });
  await client.sendMessage('go');
  return { error: errors[0] ?? null, messages: client.getMessages() };
}
