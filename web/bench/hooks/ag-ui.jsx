// AG-UI has no hook of its own: this is the least that a page does around its agent.

import { HttpAgent } from '@ag-ui/client';
import { useEffect, useMemo, useState } from 'react';

export function useSubject({ server, agent, session }) {
  const client = useMemo(() => new HttpAgent({ url: `${server}/v1/ag-ui/${agent}/chat`, threadId: session }), [server, agent, session]);
  const [messages, setMessages] = useState([]);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => client.subscribe({ onMessagesChanged: ({ messages }) => void setMessages(messages) }).unsubscribe, [client]);
  return {
    async send(text) {
      setBusy(true);
      client.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
      await client.runAgent().finally(() => setBusy(false));
    },
    isBusy,
    text: messages.map(({ role, content }) => (role === 'assistant' ? (content ?? '') : '')).join(''),
    outputs: messages.filter(({ role }) => role === 'tool').length,
  };
}
