// The page of browser.test.ts: a chat in StrictMode that shows what a test looks for.

import type { Message } from '@headwater/client';
import { watchSession } from '@headwater/client/session';
import { useChat, useInterrupts } from '@headwater/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

const textOf = ({ role, parts }: Message) => (role === 'assistant' ? parts.map((part) => (part.type === 'text' ? part.text : '')).join('') : '');

let renders = 0;

function Page() {
  const query = new URLSearchParams(location.search);
  const agent = query.get('agent') ?? 'chat';
  const stallTimeout = Number(query.get('stall') ?? 60_000);
  const { messages, status, connection, error, send, chat } = useChat({ url: '', agent, storage: () => localStorage, watch: watchSession, retryDelay: () => 100, maxRetries: 1000, stallTimeout });
  const { waiting, approve } = useInterrupts(chat);
  renders += 1;
  Object.assign(globalThis, { send, renders });
  return (
    <main data-status={status} data-connection={connection} data-error={error?.code}>
      <h1>Chat</h1>
      <ul>{messages.map((message) => <li key={message.id} className={message.role}>{textOf(message)}</li>)}</ul>
      {waiting.map((open) => open.kind === 'approval' && <button key={open.request} onClick={() => void approve(open.request)}>{open.name}</button>)}
    </main>
  );
}

createRoot(document.body.appendChild(document.createElement('div'))).render(<StrictMode><Page /></StrictMode>);
