// A page of TanStack AI, as its quick start and its guides on tools, interrupts and persistence have it.

import { createRoot } from 'react-dom/client';
import { toolDefinition } from '@tanstack/ai/client';
import { fetchServerSentEvents, useChat } from '@tanstack/ai-react';
import { Approval, Composer, Question, StructuredObject, ToolCall } from './cards.jsx';
import { agent, conversation, server } from './settings.js';

const getLocation = toolDefinition({
  name: 'get_location',
  description: 'Where the person is',
  inputSchema: { type: 'object', properties: {} },
}).client(async () => ({ city: 'Bergen' }));

const connection = fetchServerSentEvents(`${server}/v1/ag-ui/${agent}/chat`);
const tools = [getLocation];

function Chat() {
  const { messages, sendMessage, isLoading, error, interrupts, addToolApprovalResponse } = useChat({
    threadId: conversation,
    connection,
    persistence: true,
    tools,
  });

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

  return (
    <main>
      {messages.map((message) => (
        <section key={message.id} className={`message ${message.role}`}>
          {message.parts.map(show)}
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
      <Composer busy={isLoading} onSend={sendMessage} />
    </main>
  );
}

createRoot(document.querySelector('#root')).render(<Chat />);
