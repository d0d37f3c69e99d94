// A page of TanStack AI, as its quick start and its guides on tools, interrupts and persistence have it.

import { createRoot } from 'react-dom/client';
import { toolDefinition } from '@tanstack/ai/client';
import { fetchServerSentEvents, useChat } from '@tanstack/ai-react';
import { Approval, Composer, Controls, Edit, Question, StructuredObject, ToolCall } from './cards.jsx';
import { conversation, locate, receive } from './settings.js';

const getLocation = toolDefinition({
  name: 'get_location',
  description: 'Where the person is',
  inputSchema: { type: 'object', properties: {} },
}).client(async () => locate());

const tools = [getLocation];

function Chat({ connection }) {
  const chat = useChat({
    // A page without persistence, as in the quick start, names no thread.
    ...(conversation && { threadId: conversation, persistence: true }),
    connection,
    tools,
    onCustomEvent: receive,
  });
  const { messages, sendMessage, setMessages, isLoading, error, interrupts, addToolApprovalResponse } = chat;

  const show = (part, at) => {
    switch (part.type) {
      case 'text':
        return <p key={at} className="text">{part.content}</p>;
      case 'thinking':
        return <p key={at} className="reasoning">{part.content}</p>;
      case 'structured-output':
        return <StructuredObject key={at} value={part.data ?? part.partial} />;
      case 'tool-call':
        if (part.state === 'approval-requested') {
          const decide = (approved) => addToolApprovalResponse({ id: part.approval.id, approved });
          return <Approval key={part.id} tool={part.name} input={JSON.parse(part.arguments)} onDecide={decide} />;
        }
        return (
          <ToolCall key={part.id} name={part.name} state={part.state}>
            {part.output === undefined ? undefined : JSON.stringify(part.output)}
          </ToolCall>
        );
      default:
        return null;
    }
  };

  // An approval is shown with its call, a question by itself.
  const questions = interrupts.filter(({ metadata }) => metadata?.options);

  // The library has no edit of its own: the history is cut before the message, and the new one is sent.
  const edit = (at, text) => {
    setMessages(messages.slice(0, at));
    void sendMessage(text);
  };

  return (
    <main>
      {messages.map((message, at) => (
        <section key={message.id} className={`message ${message.role}`}>
          {message.parts.map(show)}
          {message.role === 'user' && <Edit text={message.parts[0].content} onEdit={(text) => edit(at, text)} />}
        </section>
      ))}
      {questions.map((interrupt) => (
        <Question
          key={interrupt.id}
          text={interrupt.message}
          options={interrupt.metadata.options}
          onAnswer={(option) => interrupt.resolveInterrupt(option)}
        />
      ))}
      {error && <p className="error">{error.message}</p>}
      <Controls Stop={chat.stop} Regenerate={chat.reload} Clear={chat.clear} />
      <Composer busy={isLoading} onSend={sendMessage} />
    </main>
  );
}

/** Shows the chat of an agent at an address. */
export function mount(url) {
  const connection = fetchServerSentEvents(url);
  createRoot(document.querySelector('#root')).render(<Chat connection={connection} />);
}
