import { fetchServerSentEvents, useChat } from '@tanstack/ai-react';
import { useMemo } from 'react';

export function useSubject({ server, agent, session }) {
  const connection = useMemo(() => fetchServerSentEvents(`${server}/v1/ag-ui/${agent}/chat?profile=tanstack`), [server, agent]);
  const { messages, sendMessage, isLoading } = useChat({ threadId: session, persistence: true, connection });
  const parts = messages.flatMap((message) => message.parts);
  return {
    send: sendMessage,
    isBusy: isLoading,
    text: parts.map((part) => (part.type === 'text' ? part.content : '')).join(''),
    outputs: parts.filter((part) => part.type === 'tool-result').length,
  };
}
