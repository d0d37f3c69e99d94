// What the pages that read AG-UI's messages show of them beside text.

import { Approval, Case, Draft, Itinerary, Question, Table, ToolCall } from '../../pages/cards.jsx';

/** An object of the agent's, by the name of its type. */
export function Activity({ type, content }) {
  if (type === 'email.compose') return <Draft {...content} />;
  if (type === 'table') return <Table {...content} />;
  if (type === 'itinerary') return <Itinerary {...content} />;
  if (type === 'support.case') return <Case {...content} />;
  return null;
}

/** Calls with their results, which are messages of their own. */
export function Calls({ calls, messages }) {
  return calls.map(({ id, function: { name } }) => {
    const result = messages.find(({ toolCallId }) => toolCallId === id);
    return (
      <ToolCall key={id} name={name} state={result ? 'complete' : 'executing'}>
        {result?.content}
      </ToolCall>
    );
  });
}

/** What the run waits for: a call that must be allowed, or a question with options. */
export function Interrupt({ interrupt, onResolve }) {
  const { message, toolCallId, metadata } = interrupt;
  if (toolCallId) {
    const { toolName = 'the tool', input } = metadata ?? {};
    return <Approval tool={toolName} input={input} onDecide={(approved) => onResolve({ approved })} />;
  }
  return <Question text={message} options={metadata?.options ?? []} onAnswer={onResolve} />;
}
