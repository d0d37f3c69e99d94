// A page of LlamaIndex' chat-ui on `useChat` of ai 5, as its quick start has it. Parts of the agents are widgets of the page.

import { useChat } from '@ai-sdk/react-v2';
import { ChatInput, ChatMessage, ChatMessages, ChatSection, usePart } from '@llamaindex/chat-ui';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from 'ai-v5';
import { createRoot } from 'react-dom/client';
import { Controls, Question, Table, ToolCall } from '../../pages/cards.jsx';
import { agent, conversation, locate, receive, server } from '../../pages/settings.js';

const transport = new DefaultChatTransport({ api: `${server}/v1/ai-sdk/${agent}/chat` });

const TOOLS = ['get_weather', 'get_location', 'delete_file'];

/** The parts that chat-ui has no component for. It shows what is in the content once for each part. */
function Widgets({ addToolOutput }) {
  const table = usePart('data-table');
  const question = usePart('tool-ask_user');
  if (table) return <Table {...table.data} />;
  if (question?.input?.options) {
    const answer = (output) => addToolOutput({ tool: 'ask_user', toolCallId: question.toolCallId, output });
    return <Question text={question.input.question} options={question.input.options} answer={question.output} onAnswer={answer} />;
  }
  return TOOLS.map((name) => <Tool key={name} name={name} />);
}

function Tool({ name }) {
  const part = usePart(`tool-${name}`);
  return (
    part && (
      <ToolCall name={name} state={part.state}>
        {part.errorText ?? JSON.stringify(part.output)}
      </ToolCall>
    )
  );
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
