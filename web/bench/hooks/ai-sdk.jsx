import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { useMemo } from 'react';

export function useSubject({ server, agent, session }) {
  const transport = useMemo(() => new DefaultChatTransport({ api: `${server}/v1/ai-sdk/${agent}/chat` }), [server, agent]);
  const { messages, sendMessage, status } = useChat({ id: session, transport, resume: true });
  const parts = messages.flatMap((message) => message.parts);
  return {
    send: (text) => sendMessage({ text }),
    isBusy: status === 'submitted' || status === 'streaming',
    text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    outputs: parts.filter((part) => part.output !== undefined).length,
  };
}
