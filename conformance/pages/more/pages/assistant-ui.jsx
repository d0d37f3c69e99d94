// A page of assistant-ui, made of its primitives as its guides have it. `assistant-ui-ai-sdk` and `assistant-ui-ag-ui` are this with
// their own runtimes.

import {
  ActionBarPrimitive,
  AssistantRuntimeProvider,
  AuiIf,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  useAssistantTool,
} from '@assistant-ui/react';
import { createRoot } from 'react-dom/client';
import { Approval, Case, Draft, FollowUps, Itinerary, Question, Table, ToolCall } from '../../pages/cards.jsx';
import { locate } from '../../pages/settings.js';

/** A tool of the page, which the runtime executes. */
function Tools() {
  useAssistantTool({
    toolName: 'get_location',
    description: 'Where the person is',
    parameters: { type: 'object', properties: {} },
    execute: async () => locate(),
  });
  return null;
}

const Text = ({ text }) => <p className="text">{text}</p>;

function Call({ toolName, args, result, approval, status, respondToApproval, addResult }) {
  if (toolName === 'ask_user') {
    return args.options && <Question text={args.question} options={args.options} answer={result} onAnswer={addResult} />;
  }
  if (approval && approval.approved === undefined && !approval.resolution) {
    return <Approval tool={toolName} input={args} onDecide={(approved) => respondToApproval({ approved })} />;
  }
  return (
    <ToolCall name={toolName} state={status.type}>
      {result !== undefined && JSON.stringify(result)}
    </ToolCall>
  );
}

const data = {
  by_name: {
    'email.compose': ({ data }) => <Draft {...data} />,
    table: ({ data }) => <Table {...data} />,
    itinerary: ({ data }) => <Itinerary {...data} />,
    'support.case': ({ data }) => <Case {...data} />,
    'follow-ups': ({ data }) => <FollowUps {...data} />,
  },
};

const parts = { Text, Reasoning: Text, tools: { Fallback: Call }, data };

function UserMessage() {
  return (
    <MessagePrimitive.Root className="message user">
      <MessagePrimitive.Parts components={{ Text }} />
      <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>
    </MessagePrimitive.Root>
  );
}

function EditComposer() {
  return (
    <ComposerPrimitive.Root className="message user">
      <ComposerPrimitive.Input aria-label="Edited message" submitMode="enter" />
      <ComposerPrimitive.Send>Save</ComposerPrimitive.Send>
    </ComposerPrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root className="message assistant">
      <MessagePrimitive.Parts components={parts} />
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root className="error">
          <ErrorPrimitive.Message />
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
      <ActionBarPrimitive.Reload>Regenerate</ActionBarPrimitive.Reload>
    </MessagePrimitive.Root>
  );
}

function Page({ useRuntime, children }) {
  const runtime = useRuntime();
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Tools />
      <ThreadPrimitive.Root asChild>
        <main>
          <ThreadPrimitive.Messages components={{ UserMessage, EditComposer, AssistantMessage }} />
          {children}
          <nav>
            <AuiIf condition={({ thread }) => thread.isRunning}>
              <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
            </AuiIf>
            <button onClick={() => runtime.thread.reset()}>Clear</button>
          </nav>
          <ComposerPrimitive.Root>
            <ComposerPrimitive.Input name="text" aria-label="Message" submitMode="enter" />
            <AuiIf condition={({ thread }) => !thread.isRunning}>
              <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
            </AuiIf>
          </ComposerPrimitive.Root>
        </main>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

export function mount(useRuntime, children) {
  createRoot(document.querySelector('#root')).render(<Page useRuntime={useRuntime}>{children}</Page>);
}
