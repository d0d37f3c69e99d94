import { ActionBarPrimitive, AssistantRuntimeProvider, AuiIf, ComposerPrimitive, ErrorPrimitive, MessagePrimitive, ThreadPrimitive } from '@assistant-ui/react';
import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk';
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { createRoot } from 'react-dom/client';
import { Text as Markdown } from '../shared/markdown.jsx';
import { agent, chatId, getLocation, server } from '../shared/settings.js';
import { Approval, DataCard, Question, Reasoning as Thoughts, Shell, Tool } from '../shared/ui.jsx';

// region: transport
const transport = new DefaultChatTransport({ api: `${server}/v1/ai-sdk/${agent}/chat?profile=ai-7` });

async function loadMessages(id) {
  const response = await fetch(`${server}/v1/sessions/${id}/messages?dialect=ai-sdk`);
  return response.ok ? (await response.json()).messages : [];
}
// endregion

// region: parts
const Text = ({ text }) => <Markdown>{text}</Markdown>;
const Reasoning = ({ text }) => <Thoughts>{text}</Thoughts>;

function ToolCall({ toolName, args, result, approval, respondToApproval, addResult }) {
  if (toolName === 'ask_user') return args.options && <Question {...args} answer={result} onAnswer={addResult} />;
  if (approval && approval.approved === undefined && !approval.resolution) {
    return <Approval tool={toolName} input={args} onDecide={(approved) => respondToApproval({ approved })} />;
  }
  return <Tool name={toolName} done={result !== undefined}>{result}</Tool>;
}

const components = {
  Text,
  Reasoning,
  tools: { Fallback: ToolCall },
  data: {
    by_name: {
      'email.compose': ({ data }) => <DataCard type="email.compose" data={data} />,
      table: ({ data }) => <DataCard type="table" data={data} />,
      itinerary: ({ data }) => <DataCard type="itinerary" data={data} />,
      'support.case': ({ data }) => <DataCard type="support.case" data={data} />,
    },
  },
};
// endregion

function UserMessage() {
  return (
    <MessagePrimitive.Root className="message user">
      <MessagePrimitive.Parts components={{ Text }} />
    </MessagePrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root className="message assistant">
      <MessagePrimitive.Parts components={components} />
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root className="error">
          <ErrorPrimitive.Message />
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
      <div className="actions">
        <ActionBarPrimitive.Root hideWhenRunning autohide="not-last">
          <ActionBarPrimitive.Reload>Regenerate</ActionBarPrimitive.Reload>
        </ActionBarPrimitive.Root>
      </div>
    </MessagePrimitive.Root>
  );
}

function Chat({ initialMessages }) {
  // region: runtime
  const chat = useChat({
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
      void chat.addToolOutput({ tool: toolName, toolCallId, output });
    },
  });
  const runtime = useAISDKRuntime(chat);
  // endregion

  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Shell title="assistant-ui">
        {/* region: thread */}
        <ThreadPrimitive.Root asChild>
          <div className="thread">
            <ThreadPrimitive.Viewport asChild>
              <main>
                <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
              </main>
            </ThreadPrimitive.Viewport>
            <footer>
              <div className="actions">
                <AuiIf condition={({ thread }) => thread.isRunning}>
                  <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
                </AuiIf>
              </div>
              <ComposerPrimitive.Root>
                <ComposerPrimitive.Input name="text" aria-label="Message" placeholder={`Say something to ${agent}`} submitMode="enter" />
                <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
              </ComposerPrimitive.Root>
            </footer>
          </div>
        </ThreadPrimitive.Root>
        {/* endregion */}
      </Shell>
    </AssistantRuntimeProvider>
  );
}

const initialMessages = await loadMessages(chatId);
createRoot(document.querySelector('#root')).render(<Chat initialMessages={initialMessages} />);
