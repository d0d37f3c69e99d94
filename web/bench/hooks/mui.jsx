import { createHeadwaterAdapter } from '@headwater/mui';
import { ChatProvider, useChat } from '@mui/x-chat-headless';
import { useMemo } from 'react';

export function Provider({ server, agent, session, children }) {
  const adapter = useMemo(() => createHeadwaterAdapter({ url: `${server}/v1/mui/${agent}/chat` }), [server, agent]);
  return <ChatProvider adapter={adapter} initialActiveConversationId={session}>{children}</ChatProvider>;
}

export function useSubject({ session }) {
  const { messages, sendMessage, isStreaming } = useChat();
  const parts = messages.flatMap((message) => message.parts);
  return {
    send: (text) => sendMessage({ conversationId: session, parts: [{ type: 'text', text }] }),
    isBusy: isStreaming,
    text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    outputs: parts.filter((part) => part.toolInvocation?.output !== undefined).length,
  };
}
