import { createConnection } from '@headwater/client/transports';
import { fetchServerSentEvents, useChat } from '@tanstack/ai-react';
import { useState } from 'react';

export function TanStackChat({ url, id }: { url: string; id: string }) {
  const [connection] = useState(() => createConnection(fetchServerSentEvents, `${url}/v1/ag-ui/chat/chat?profile=tanstack`));
  const { messages, sendMessage, isLoading } = useChat({ threadId: id, persistence: true, connection });
  return (
    <button disabled={isLoading} onClick={() => void sendMessage('hello')}>
      {messages.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.content : '')))}
    </button>
  );
}
