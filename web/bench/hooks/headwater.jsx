import { useChat } from '@headwater/react';

export function useSubject({ server, agent, session }) {
  const { messages, send, status } = useChat({ url: server, agent, session });
  const parts = messages.flatMap((message) => message.parts);
  return {
    send,
    isBusy: status === 'submitted' || status === 'streaming',
    text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    outputs: parts.filter((part) => part.type === 'tool' && part.output !== undefined).length,
  };
}
