// A page of TanStack AI 0.2, the last before AG-UI, as its quick start and its guide on tools have it. The library keeps nothing.

import { createRoot } from 'react-dom/client';
import { toolDefinition } from '@tanstack/ai';
import { fetchServerSentEvents, useChat } from '@tanstack/ai-react';
import { Composer, Controls, Edit, Question, ObjectByFields, ToolCall } from '../../pages/cards.jsx';
import { agent, conversation, locate, server } from '../../pages/settings.js';

const tools = [
  toolDefinition({
    name: 'get_location',
    description: 'Where the person is',
    inputSchema: { type: 'object', properties: {} },
  }).client(async () => locate()),
];
const connection = fetchServerSentEvents(`${server}/v1/tanstack/${agent}/chat`);

function Chat() {
  const chat = useChat({ ...(conversation && { id: conversation }), connection, tools });
  const { messages, sendMessage, setMessages, isLoading, error, addToolResult } = chat;
  const answers = (id) => messages.flatMap(({ parts }) => parts).find((part) => part.type === 'tool-result' && part.toolCallId === id);

  const show = (part, at) => {
    switch (part.type) {
      case 'text':
        return <p key={at} className="text">{part.content}</p>;
      case 'thinking':
        return <p key={at} className="reasoning">{part.content}</p>;
      case 'tool-call':
        return call(part);
      default:
        return null;
    }
  };

  /** Questions and objects are calls too: the protocol has nothing else for them. */
  const call = ({ id, name, arguments: input, state, output }) => {
    const result = answers(id)?.content;
    if (name === 'ask_user') {
      const { question, options } = parsed(input) ?? {};
      const answer = (output) => addToolResult({ tool: name, toolCallId: id, output });
      return options && <Question key={id} text={question} options={options} answer={output ?? result} onAnswer={answer} />;
    }
    if (name === 'table' || name === 'email.compose') return <ObjectByFields key={id} value={parsed(result)} />;
    return (
      <ToolCall key={id} name={name} state={state}>
        {result ?? (output && JSON.stringify(output))}
      </ToolCall>
    );
  };

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
      {error && <p className="error">{error.message}</p>}
      <Controls Stop={chat.stop} Regenerate={chat.reload} Clear={chat.clear} />
      <Composer busy={isLoading} onSend={sendMessage} />
    </main>
  );
}

/** Incomplete arguments are not JSON yet. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

createRoot(document.querySelector('#root')).render(<Chat />);
