import { useChat } from '@ai-sdk/react';
import { createChatTransport } from '@headwater/client/transports';
import { useState } from 'react';

export function AiSdkChat({ url, id }: { url: string; id: string }) {
  const [transport] = useState(() => createChatTransport({ api: `${url}/v1/ai-sdk/chat/chat?profile=ai-7` }));
  const { messages, sendMessage, status } = useChat({ id, transport, resume: true });
  return (
    <button disabled={status !== 'ready'} onClick={() => void sendMessage({ text: 'hello' })}>
      {messages.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')))}
    </button>
  );
}
