import type { Message } from '@headwater/client';
import { useChat, useInterrupts } from '@headwater/react';
import { useState } from 'react';

export function ChatPage({ url }: { url: string }) {
  const { messages, status, error, send, stop, chat } = useChat({ url, agent: 'tools', storage: () => sessionStorage });
  const { waiting, approve } = useInterrupts(chat);
  const [text, setText] = useState('');

  return (
    <main>
      {messages.map((message) => <p key={message.id}>{textOf(message)}</p>)}
      {waiting.map((open) => open.kind === 'approval' && (
        <button key={open.request} onClick={() => void approve(open.request)}>Allow {open.name}</button>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={(event) => { event.preventDefault(); void send(text); setText(''); }}>
        <input value={text} onChange={(event) => setText(event.target.value)} />
        {status === 'streaming' && <button type="button" onClick={() => void stop()}>Stop</button>}
      </form>
    </main>
  );
}

const textOf = ({ parts }: Message) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
