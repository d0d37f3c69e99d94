// A page of the AI SDK, as its quick start and its guides on tools, approvals, persistence and resuming have it. `ai-5`, `ai-6`
// and `ai-7` are this with their own packages.

import { createRoot } from 'react-dom/client';
import { Approval, Case, Composer, Controls, Draft, Edit, FollowUps, Itinerary, Question, Table, ToolCall } from './cards.jsx';
import { conversation, locate, receive, server } from './settings.js';

export async function mount({ useChat, sdk, api }) {
  const messages = conversation ? await history() : [];
  createRoot(document.querySelector('#root')).render(<Chat {...{ useChat, sdk, api }} initial={messages} />);
}

/** The conversation comes from the server, as in the SDK's guide on persistence; a new one is not known there yet. */
async function history() {
  const response = await fetch(`${server}/v1/sessions/${conversation}/messages?dialect=ai-sdk`);
  return response.ok ? (await response.json()).messages : [];
}

function Chat({ useChat, sdk, api, initial }) {
  const chat = useChat({
    // A page without persistence, as in the quick start, names no conversation.
    ...(conversation && { id: conversation, messages: initial, resume: true }),
    transport: new sdk.DefaultChatTransport({ api }),
    sendAutomaticallyWhen: (chat) =>
      sdk.lastAssistantMessageIsCompleteWithToolCalls(chat) ||
      // Approvals came with ai 6.
      sdk.lastAssistantMessageIsCompleteWithApprovalResponses?.(chat),
    onToolCall({ toolCall }) {
      if (toolCall.toolName !== 'get_location') return;
      // Awaiting it here would wait for itself.
      addToolOutput({ tool: 'get_location', toolCallId: toolCall.toolCallId, output: locate() });
    },
    onData: ({ type }) => receive(type),
  });
  const { messages, sendMessage, status, error, addToolOutput, addToolApprovalResponse } = chat;

  const show = (part, at) => {
    switch (part.type) {
      case 'text':
        return <p key={at} className="text">{part.text}</p>;
      case 'reasoning':
        return <p key={at} className="reasoning">{part.text}</p>;
      case 'file':
        return <img key={at} src={part.url} alt={part.mediaType} />;
      case 'source-url':
        return <a key={at} className="source" href={part.url}>{part.title}</a>;
      case 'source-document':
        return <span key={at} className="source">{part.title}</span>;
      case 'data-email.compose':
        return <Draft key={part.id} {...part.data} />;
      case 'data-table':
        return <Table key={part.id} {...part.data} />;
      case 'data-itinerary':
        return <Itinerary key={part.id} {...part.data} />;
      case 'data-support.case':
        return <Case key={part.id} {...part.data} />;
      case 'data-follow-ups':
        return <FollowUps key={part.id} {...part.data} />;
      case 'tool-ask_user':
        return (
          part.input?.options && (
            <Question
              key={part.toolCallId}
              text={part.input.question}
              options={part.input.options}
              answer={part.output}
              onAnswer={(output) => addToolOutput({ tool: 'ask_user', toolCallId: part.toolCallId, output })}
            />
          )
        );
    }
    if (!part.type.startsWith('tool-')) return null;
    const name = part.type.slice('tool-'.length);
    if (part.state === 'approval-requested') {
      const decide = (approved) => addToolApprovalResponse({ id: part.approval.id, approved });
      return <Approval key={part.toolCallId} tool={name} input={part.input} onDecide={decide} />;
    }
    return (
      <ToolCall key={part.toolCallId} name={name} state={part.state}>
        {part.errorText ?? (part.output === undefined ? undefined : JSON.stringify(part.output))}
      </ToolCall>
    );
  };

  return (
    <main>
      {messages.map((message) => (
        <section key={message.id} className={`message ${message.role}`}>
          {message.parts.map(show)}
          {message.role === 'user' && (
            <Edit text={message.parts[0].text} onEdit={(text) => sendMessage({ text, messageId: message.id })} />
          )}
        </section>
      ))}
      {error && <p className="error">{error.message}</p>}
      <Controls Stop={chat.stop} Regenerate={() => chat.regenerate()} Clear={() => chat.setMessages([])} />
      <Composer busy={status === 'submitted' || status === 'streaming'} onSend={(text) => sendMessage({ text })} />
    </main>
  );
}
