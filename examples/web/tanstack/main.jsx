import { toolDefinition } from '@tanstack/ai/client';
import { fetchServerSentEvents, useChat } from '@tanstack/ai-react';
import { createRoot } from 'react-dom/client';
import { agent, chatId, getLocation, server } from '../shared/settings.js';
import { ObjectByFields } from '../shared/objects.jsx';
import { Text } from '../shared/markdown.jsx';
import { Approval, Composer, Conversation, Failure, Message, Question, Reasoning, Shell, Suggestions, Tool } from '../shared/ui.jsx';

// region: connection
const connection = fetchServerSentEvents(`${server}/v1/ag-ui/${agent}/chat`);

const tools = [
  toolDefinition({
    name: 'get_location',
    description: 'Where the person is',
    inputSchema: { type: 'object', properties: {} },
  }).client(getLocation),
];
// endregion

function Chat() {
  // region: chat
  const { messages, sendMessage, isLoading, error, stop, reload, interrupts, addToolApprovalResponse } = useChat({
    connection,
    tools,
    threadId: chatId,
    // The history, and the answer that is still being written, come from the server.
    persistence: true,
  });
  // An approval is part of its call. What else the run waits for is a question.
  const questions = interrupts.filter(({ metadata }) => metadata?.options);
  // endregion

  // region: parts
  const show = (part, at) => {
    if (part.type === 'text') return <Text key={at}>{part.content}</Text>;
    if (part.type === 'thinking') return <Reasoning key={at}>{part.content}</Reasoning>;
    if (part.type === 'structured-output') return <ObjectByFields key={at} value={part.data ?? part.partial} />;
    if (part.type !== 'tool-call') return null;
    if (part.state === 'approval-requested') {
      const decide = (approved) => addToolApprovalResponse({ id: part.approval.id, approved });
      return <Approval key={part.id} tool={part.name} input={JSON.parse(part.arguments)} onDecide={decide} />;
    }
    return <Tool key={part.id} name={part.name} done={part.output !== undefined}>{part.output}</Tool>;
  };
  // endregion

  return (
    <Shell title="TanStack AI">
      <Conversation>
        {messages.length === 0 && <Suggestions onPick={sendMessage} />}
        {messages.map(({ id, role, parts }) => (
          <Message key={id} role={role}>{parts.map(show)}</Message>
        ))}
        {/* region: questions */}
        {questions.map((interrupt) => (
          <Question
            key={interrupt.id}
            question={interrupt.message}
            options={interrupt.metadata.options}
            onAnswer={(option) => interrupt.resolveInterrupt(option)}
          />
        ))}
        {/* endregion */}
        <Failure error={error} />
      </Conversation>
      <Composer busy={isLoading} onSend={sendMessage} onStop={stop} onRegenerate={messages.length > 0 && reload} />
    </Shell>
  );
}

createRoot(document.querySelector('#root')).render(<Chat />);
