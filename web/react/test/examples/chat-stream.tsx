import { useChatStream } from '@headwater/react';

export function Onboarding({ api }: { api: string }) {
  const { messages, status, error, sendMessage } = useChatStream({ api, initialMessages: [] });
  return (
    <button disabled={status !== 'ready'} onClick={() => void sendMessage('Hello', { selectedBusiness: 'b1' })}>
      {messages.flatMap(({ parts }) => parts.map((part) => String(part['text'] ?? part.type)))} {error?.message}
    </button>
  );
}
