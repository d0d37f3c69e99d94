import { assign } from './assign.js';
import type { Event, ToolPart, ToolState } from './native.js';

/** The events of a tool call's life. */
export type ToolEvent = Extract<Event, { type: `tool-${string}` | `approval-${string}` }>;

/** The call has had its effect, or never will. */
export const isSettled = (state: ToolState): boolean => state.startsWith('output-');

const NO_OUTPUT = { output: undefined, structured: undefined, isError: undefined, preliminary: undefined, error: undefined };

/** Brings a tool call one step further in its life, in place. */
export function applyToolEvent(part: ToolPart, event: ToolEvent): void {
  switch (event.type) {
    case 'tool-input-start':
    case 'tool-input-available':
    case 'tool-input-error': {
      // A call that is announced again begins anew.
      const { name, executor = part.executor, title = part.title, metadata = part.metadata } = event;
      const { input, error } = event as { input?: unknown; error?: string };
      const isStart = event.type === 'tool-input-start';
      const state = isStart ? 'input-streaming' : error === undefined ? 'input-available' : 'output-error';
      assign(part, { ...NO_OUTPUT, input, error, title, metadata, name: name || part.name, executor, state });
      if (isStart || input !== undefined) delete part.inputText;
      break;
    }
    case 'tool-input-delta':
      part.state = 'input-streaming';
      part.inputText = (part.inputText ?? '') + event.delta;
      break;
    case 'approval-requested': {
      const { approval: id, signature, automatic, name, input = part.input } = event;
      const approval = assign({}, { id, signature, automatic });
      assign(part, { state: 'approval-requested', name: name || part.name, input, approval });
      if (input !== undefined) delete part.inputText;
      break;
    }
    case 'approval-answered': {
      const { approval: id, approved, reason } = event;
      assign(part, { state: 'approval-responded', approval: assign({ id, ...part.approval }, { approved, reason }) });
      break;
    }
    case 'tool-output': {
      const { output, structured, isError, preliminary, metadata: outputMetadata = part.outputMetadata } = event;
      assign(part, { state: 'output-available', output, structured, isError, preliminary, outputMetadata, error: undefined });
      break;
    }
    case 'tool-output-error':
      assign(part, { ...NO_OUTPUT, state: 'output-error', error: event.error });
      break;
    case 'tool-denied': {
      const approval = assign({ ...part.approval }, { approved: false, reason: event.reason ?? part.approval?.reason });
      assign(part, { state: 'output-denied', approval });
      break;
    }
  }
}
