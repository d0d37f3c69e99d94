import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { createRoot } from 'react-dom/client';
import { agent, chatId, getLocation, server } from '../shared/settings.js';
import { Text } from '../shared/markdown.jsx';
import { Approval, Composer, Conversation, DataCard, Failure, Message, Question, Reasoning, Shell, Suggestions, Tool } from '../shared/ui.jsx';

// region: transport
const transport = new DefaultChatTransport({ api: `${server}/v1/ai-sdk/${agent}/chat?profile=ai-7` });
// endregion

// region: history
/** The conversation as the server has it. One that has not begun yet is not known there. */
async function loadMessages(id) {
  const response = await fetch(`${server}/v1/sessions/${id}/messages?dialect=ai-sdk`);
  return response.ok ? (await response.json()).messages : [];
}
// endregion

function Chat({ initialMessages }) {
  // region: chat
  const { messages, sendMessage, status, error, stop, regenerate, addToolOutput, addToolApprovalResponse } = useChat({
    id: chatId,
    messages: initialMessages,
    resume: true,
    transport,
    sendAutomaticallyWhen: (chat) =>
      lastAssistantMessageIsCompleteWithToolCalls(chat) || lastAssistantMessageIsCompleteWithApprovalResponses(chat),
    async onToolCall({ toolCall: { toolName, toolCallId } }) {
      if (toolName !== 'get_location') return;
      const output = await getLocation();
      // Not awaited: it ends when this callback has returned.
      void addToolOutput({ tool: toolName, toolCallId, output });
    },
  });
  // endregion

  // region: parts
  const show = (part, at) => {
    if (part.type === 'text') return <Text key={at}>{part.text}</Text>;
    if (part.type === 'reasoning') return <Reasoning key={at}>{part.text}</Reasoning>;
    if (part.type === 'file') return <img key={at} src={part.url} alt={part.filename ?? part.mediaType} />;
    if (part.type === 'source-url') return <a key={at} className="source" href={part.url}>{part.title ?? part.url}</a>;
    if (part.type.startsWith('data-')) return <DataCard key={at} type={part.type.slice('data-'.length)} data={part.data} />;
    if (part.type.startsWith('tool-')) return showTool(part);
    return null;
  };

  const showTool = ({ type, toolCallId, state, input, output, errorText, approval }) => {
    const name = type.slice('tool-'.length);
    if (name === 'ask_user') {
      const answer = (output) => addToolOutput({ tool: name, toolCallId, output });
      return state !== 'input-streaming' && <Question key={toolCallId} {...input} answer={output} onAnswer={answer} />;
    }
    if (state === 'approval-requested') {
      const decide = (approved) => addToolApprovalResponse({ id: approval.id, approved });
      return <Approval key={toolCallId} tool={name} input={input} onDecide={decide} />;
    }
    return <Tool key={toolCallId} name={name} done={state.startsWith('output-')}>{errorText ?? output}</Tool>;
  };
  // endregion

  return (
    <Shell title="AI SDK">
      <Conversation>
        {messages.length === 0 && <Suggestions onPick={(text) => sendMessage({ text })} />}
        {messages.map(({ id, role, parts }) => (
          <Message key={id} role={role}>{parts.map(show)}</Message>
        ))}
        <Failure error={error} />
      </Conversation>
      <Composer
        busy={status === 'submitted' || status === 'streaming'}
        onSend={(text) => sendMessage({ text })}
        onStop={stop}
        onRegenerate={messages.length > 0 && regenerate}
      />
    </Shell>
  );
}

const initialMessages = await loadMessages(chatId);
createRoot(document.querySelector('#root')).render(<Chat initialMessages={initialMessages} />);
