// The page of browser.test.ts with the AI SDK's own hook and our transport.

import { useChat } from '@ai-sdk/react';
import { createChatTransport } from '@headwater/client/transports';
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';

const agent = new URLSearchParams(location.search).get('agent') ?? 'chat';

function Page() {
  const [transport] = useState(() => createChatTransport({ api: `/v1/ai-sdk/${agent}/chat?profile=ai-7`, retryDelay: () => 100, maxRetries: 1000 }));
  const { messages, status, error, sendMessage } = useChat({ id: location.hash.slice(1), transport, resume: true });
  Object.assign(globalThis, { send: (text: string) => sendMessage({ text }) });
  return (
    <main data-status={status} data-connection={status === 'ready' ? 'closed' : 'open'} data-error={error?.message}>
      <h1>Chat</h1>
      <ul>
        {messages.map(({ id, role, parts }) => (
          <li key={id} className={role}>{parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}</li>
        ))}
      </ul>
    </main>
  );
}

createRoot(document.body.appendChild(document.createElement('div'))).render(<StrictMode><Page /></StrictMode>);
