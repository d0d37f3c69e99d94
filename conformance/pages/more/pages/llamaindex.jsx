// A page of LlamaIndex' chat-ui on `useChat` of ai 5, as its quick start has it. Parts of the agents are widgets of the page.

import { useChat } from '@ai-sdk/react-v2';
import { ChatInput, ChatMessage, ChatMessages, ChatSection, useChatMessage } from '@llamaindex/chat-ui';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from 'ai-v5';
import { createRoot } from 'react-dom/client';
import { Controls, Grid, Question, ToolCall } from '../../pages/cards.jsx';
import { agent, conversation, locate, receive, server } from '../../pages/settings.js';

const transport = new DefaultChatTransport({ api: `${server}/v1/ai-sdk/${agent}/chat` });

/** The parts that chat-ui has no component for. */
function Widgets({ addToolOutput }) {
  const { message } = useChatMessage();
  return message.parts.map((part) => {
    if (part.type === 'data-table') return <Grid key={part.id} {...part.data} />;
    if (part.type === 'tool-ask_user') {
      const answer = (output) => addToolOutput({ tool: 'ask_user', toolCallId: part.toolCallId, output });
      const { question, options } = part.input ?? {};
      return options && <Question key={part.toolCallId} text={question} options={options} answer={part.output} onAnswer={answer} />;
    }
    if (!part.type.startsWith('tool-')) return null;
    return (
      <ToolCall key={part.toolCallId} name={part.type.slice('tool-'.length)} state={part.state}>
        {part.errorText ?? JSON.stringify(part.output)}
      </ToolCall>
    );
  });
}

function Messages({ messages, addToolOutput }) {
  return (
    <ChatMessages>
      <ChatMessages.List>
        {messages.map((message, at) => (
          <ChatMessage key={message.id} message={message} isLast={at === messages.length - 1} className={`message ${message.role}`}>
            <ChatMessage.Content>
              <ChatMessage.Part.Markdown />
              <Widgets addToolOutput={addToolOutput} />
            </ChatMessage.Content>
          </ChatMessage>
        ))}
      </ChatMessages.List>
    </ChatMessages>
  );
}

function Chat() {
  const handler = useChat({
    ...(conversation && { id: conversation }),
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall({ toolCall }) {
      if (toolCall.toolName !== 'get_location') return;
      // Awaiting it here would wait for itself.
      handler.addToolOutput({ tool: 'get_location', toolCallId: toolCall.toolCallId, output: locate() });
    },
    onData: ({ type }) => receive(type),
  });
  return (
    <main>
      <ChatSection handler={handler}>
        <Messages messages={handler.messages} addToolOutput={handler.addToolOutput} />
        <Controls Stop={handler.stop} Regenerate={() => handler.regenerate()} Clear={() => handler.setMessages([])} />
        <ChatInput />
      </ChatSection>
    </main>
  );
}

createRoot(document.querySelector('#root')).render(<Chat />);
