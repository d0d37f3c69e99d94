// The quickstart of the README as a page: without tools and questions, which `main.jsx` has.

// region: quickstart
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
// endregion
import { createRoot } from 'react-dom/client';
import { agent, chatId, server } from '../shared/settings.js';

// region: quickstart
const transport = new DefaultChatTransport({ api: `${server}/v1/ai-sdk/${agent}/chat` });
// endregion

async function loadMessages() {
  const response = await fetch(`${server}/v1/sessions/${chatId}/messages?dialect=ai-sdk`);
  return response.ok ? (await response.json()).messages : [];
}

function Chat({ history }) {
  // region: quickstart
  const { messages, sendMessage } = useChat({ id: chatId, messages: history, resume: true, transport });
  // endregion

  const send = (event) => {
    event.preventDefault();
    void sendMessage({ text: event.target.text.value });
    event.target.reset();
  };
  return (
    <>
      {messages.map(({ id, role, parts }) => (
        <p key={id} className={`message ${role}`}>{parts.map(({ type, text }) => type === 'text' && text)}</p>
      ))}
      <form onSubmit={send}><input name="text" aria-label="Message" /><button>Send</button></form>
    </>
  );
}

createRoot(document.querySelector('#root')).render(<Chat history={await loadMessages()} />);
