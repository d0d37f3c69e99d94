import type { Approval, Event, Executor, ToolPart, ToolState } from './native.js';
import { parsePartialJson } from './partial-json.js';

/** The events of a tool call's life. */
export type ToolEvent = Extract<Event, {
  type: `tool-${string}` | `approval-${string}`;
}>;

/** The call has had its effect, or never will. */
export const isSettled = (state: ToolState): boolean => state.startsWith('output-');

/** Brings a tool call one step further in its life, in place. */
export function applyToolEvent(part: ToolPart, event: ToolEvent): void {
  switch (event.type) {
    case 'tool-input-start':
      announce(part, event, 'input-streaming');
      delete part.inputText;
      break;
    case 'tool-input-delta':
      part.state = 'input-streaming';
      part.inputText = (part.inputText ?? '') + event.delta;
      break;
    case 'tool-input-available':
      announce(part, event, 'input-available');
      setInput(part, event.input);
      break;
    case 'tool-input-error':
      announce(part, event, 'output-error');
      setInput(part, event.input);
      part.error = event.error;
      break;
    case 'approval-requested': {
      keepStreamedInput(part);
      part.state = 'approval-requested';
      if (event.name) part.name = event.name;
      if (event.input !== undefined) setInput(part, event.input);
      const approval: Approval = { id: event.approval };
      if (event.signature !== undefined) approval.signature = event.signature;
      if (event.automatic) approval.automatic = true;
      part.approval = approval;
      break;
    }
    case 'approval-answered': {
      part.state = 'approval-responded';
      const { reason: _, ...held } = part.approval ?? { id: event.approval };
      part.approval = { ...held, approved: event.approved, ...(event.reason === undefined ? {} : { reason: event.reason }) };
      break;
    }
    case 'tool-output':
      keepStreamedInput(part);
      forgetOutput(part);
      delete part.error;
      part.state = 'output-available';
      part.output = event.output;
      if (event.structured !== undefined) part.structured = event.structured;
      if (event.isError) part.isError = true;
      if (event.preliminary) part.preliminary = true;
      if (event.metadata !== undefined) part.outputMetadata = event.metadata;
      break;
    case 'tool-output-error':
      keepStreamedInput(part);
      forgetOutput(part);
      part.state = 'output-error';
      part.error = event.error;
      break;
    case 'tool-denied':
      keepStreamedInput(part);
      part.state = 'output-denied';
      part.approval = { ...part.approval, approved: false, ...(event.reason === undefined ? {} : { reason: event.reason }) };
      break;
  }
}

/** A call is announced, or announced again: then it begins anew. */
function announce(
  part: ToolPart,
  { name, executor, title, metadata }: { name: string; executor?: Executor; title?: string; metadata?: unknown },
  state: ToolState,
): void {
  part.state = state;
  if (name) part.name = name;
  delete part.input;
  delete part.error;
  forgetOutput(part);
  if (executor && executor !== 'server') part.executor = executor;
  if (title !== undefined) part.title = title;
  if (metadata !== undefined) part.metadata = metadata;
}

function setInput(part: ToolPart, input: unknown): void {
  if (input === undefined) delete part.input;
  else {
    part.input = input;
    delete part.inputText;
  }
}

function forgetOutput(part: ToolPart): void {
  delete part.output;
  delete part.structured;
  delete part.isError;
  delete part.preliminary;
}

/** A call whose output or approval comes while its input streams was made with what has streamed. */
function keepStreamedInput(part: ToolPart): void {
  if (part.state !== 'input-streaming' || part.input !== undefined || part.inputText === undefined) return;
  const input = parsePartialJson(part.inputText);
  if (input !== undefined) part.input = input;
}
