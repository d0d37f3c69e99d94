/**
 * Streams of TanStack AI 0.0.1 to 0.2.2, read to the messages that its own client builds. Later versions speak AG-UI:
 * see `@headwater/client/ag-ui`.
 *
 * @packageDocumentation
 */
import { Draft } from './draft.js';
import { errorOf } from './errors.js';
import { readSnapshots } from './read-snapshots.js';
import { readEvents, type ReadOptions, type StreamEvent, type StreamSource } from './read-stream.js';

/** A chunk: `{ type: 'content', delta, content }` and so on. */
export type StreamChunk = { type: string; id?: string; model?: string; timestamp?: number } & Record<string, unknown>;

export interface ToolCallPart {
  type: 'tool-call';
  id: string;
  name: string;
  /** The JSON text of the input so far. */
  arguments: string;
  state: 'awaiting-input' | 'input-streaming' | 'input-complete' | 'approval-requested' | 'approval-responded';
  approval?: { id: string; needsApproval: boolean; approved?: boolean };
  output?: unknown;
}

export type MessagePart =
  | { type: 'text'; content: string }
  | { type: 'thinking'; content: string }
  | ToolCallPart
  | { type: 'tool-result'; toolCallId: string; content: unknown; state: 'complete' | 'error'; error?: string };

/** A message as `useChat` of TanStack AI has it. */
export interface UIMessage {
  id: string;
  role: 'system' | 'user' | 'assistant';
  parts: MessagePart[];
}

/** Reads the chunks of a stream, over SSE or NDJSON. A line that is not JSON is passed over, with a warning. */
export async function* readStream(source: StreamSource, options?: ReadOptions): AsyncGenerator<StreamChunk, void, undefined> {
  for await (const event of readEvents(source, options)) yield* chunksOf(event);
}

/** The client reads lines, not events: each is a chunk of its own, and `[DONE]` ends nothing. */
function* chunksOf({ data }: StreamEvent): Generator<StreamChunk, void, undefined> {
  for (const line of data.split('\n')) {
    if (!line.trim() || line === '[DONE]') continue;
    try {
      yield JSON.parse(line) as StreamChunk;
    } catch {
      console.warn(`not a chunk: ${line.slice(0, 80)}`);
    }
  }
}

/**
 * Reads the messages after a response, as often as bytes arrive.
 *
 * @example
 * ```ts
 * for await (const messages of readMessages(response, { messages: history })) render(messages);
 * ```
 */
export function readMessages(
  source: StreamSource,
  { messages, ...options }: ReadOptions & { /** The messages so far. */ messages?: readonly UIMessage[] } = {},
): AsyncGenerator<readonly UIMessage[], void, undefined> {
  const reducer = new UIMessageReducer(messages);
  reducer.start();
  return readSnapshots(source, reducer, options, chunksOf);
}

/** Builds messages from chunks: one for each response. A chunk of which the client dies is an error. */
export class UIMessageReducer {
  #draft = new Draft();
  #messages: readonly UIMessage[];
  #calls = new Map<string, { name: string; arguments: string; isComplete: boolean }>();
  #segment = '';
  #thoughts = '';
  #hasCalledSinceText = false;
  /** The error that ended the stream. */
  error: { message: string; code?: string } | undefined;
  finishReason: string | undefined;

  constructor(messages: readonly UIMessage[] = []) {
    this.#messages = messages;
  }

  /** The messages so far. They are never changed afterwards. */
  snapshot(): readonly UIMessage[] {
    this.#draft.seal();
    return this.#messages;
  }

  /** A response begins, and with it a message. */
  start(id = `msg-${this.#messages.length + 1}`): void {
    this.#messages = [...this.#messages, { id, role: 'assistant', parts: [] }];
    this.#calls.clear();
    this.#segment = this.#thoughts = '';
    this.#hasCalledSinceText = false;
    this.error = this.finishReason = undefined;
  }

  apply(chunk: StreamChunk): void {
    // An error ends the stream: what follows is not read.
    if (this.error) return;
    const { type, toolCallId } = chunk as { type: string; toolCallId: string };
    if (type === 'content') this.#content(chunk as never);
    else if (type === 'thinking') this.#thinking(chunk as never);
    else if (type === 'tool_call') this.#toolCall(chunk as never);
    else if (type === 'tool_result') this.#result(toolCallId, { content: chunk['content'], state: 'complete' });
    else if (type === 'approval-requested') {
      const { id } = chunk['approval'] as { id: string };
      if (this.#calls.has(toolCallId)) this.#editCall(toolCallId, (part) => Object.assign(part, { state: 'approval-requested', approval: { id, needsApproval: true } }));
    } else if (type === 'done') {
      this.#complete();
      this.finishReason = (chunk['finishReason'] as string | null) ?? undefined;
    } else if (type === 'error') {
      const { message, code } = chunk['error'] as { message: string; code?: string };
      this.error = { message, ...(code === undefined ? {} : { code }) };
    }
  }

  /** The response has ended, and with it every input that was streamed. */
  end(): void {
    this.#complete();
  }

  /** The page gives the output of a tool that it executes. */
  addToolResult(call: string, output: unknown, error?: string): void {
    const known = this.#editCall(call, (part) => Object.assign(part, { state: 'input-complete', output: error === undefined ? output : { error } }));
    const content = typeof output === 'string' ? output : JSON.stringify(output);
    if (known) this.#result(call, { content, state: error === undefined ? 'complete' : 'error', ...(error === undefined ? {} : { error }) }, true);
  }

  /** A person allows a call, or does not. */
  addToolApprovalResponse(id: string, approved: boolean): void {
    for (const { parts } of this.#messages) {
      for (const part of parts) {
        if (part.type !== 'tool-call' || part.approval?.id !== id) continue;
        this.#editCall(part.id, (own) => Object.assign(own, { state: 'approval-responded', approval: { ...part.approval, approved } }));
      }
    }
  }

  #parts(at = this.#messages.length - 1): MessagePart[] {
    const messages = (this.#messages = this.#draft.own(this.#messages as UIMessage[])) as UIMessage[];
    const message = (messages[at] = this.#draft.own(messages[at] as UIMessage));
    return (message.parts = this.#draft.own(message.parts));
  }

  #edit(at: number, index: number): MessagePart {
    const parts = this.#parts(at);
    return (parts[index] = this.#draft.own(parts[index] as MessagePart));
  }

  #editCall(call: string, change: (part: ToolCallPart) => void): boolean {
    const at = this.#messages.findLastIndex(({ parts }) => parts.some((part) => part.type === 'tool-call' && part.id === call));
    if (at < 0) return false;
    const index = (this.#messages[at] as UIMessage).parts.findIndex((part) => part.type === 'tool-call' && part.id === call);
    change(this.#edit(at, index) as ToolCallPart);
    return true;
  }

  #content({ delta, content }: { delta?: string; content?: string }): void {
    this.#complete();
    if (delta == null && content == null) throw new Error('a content chunk needs `delta`');
    if (this.#hasCalledSinceText && this.#segment && content != null && !content.startsWith(this.#segment)) {
      this.#segment = '';
      this.#hasCalledSinceText = false;
    }
    const known = this.#segment.length;
    if (delta) this.#segment += delta;
    else if (content == null) throw new Error('a content chunk with an empty `delta` needs `content`');
    else this.#segment = extend(this.#segment, content);
    if (this.#segment.length <= known) return;
    // What stands last in the message decides: a text is written anew, after anything else the whole segment is.
    const parts = this.#parts();
    if (parts.at(-1)?.type === 'text') parts[parts.length - 1] = { type: 'text', content: this.#segment };
    else parts.push({ type: 'text', content: this.#segment });
  }

  #thinking({ delta, content }: { delta?: string; content?: string }): void {
    if (!delta && content == null) throw new Error('a thinking chunk needs `delta` or `content`');
    this.#thoughts = delta ? this.#thoughts + delta : extend(this.#thoughts, content as string);
    const parts = this.#parts();
    const at = parts.findIndex(({ type }) => type === 'thinking');
    parts[at < 0 ? parts.length : at] = { type: 'thinking', content: this.#thoughts };
  }

  #toolCall({ toolCall: { id, function: called } }: { toolCall: { id: string; function: { name?: string; arguments?: string | null } } }): void {
    const { name = '' } = called;
    const delta = called.arguments ?? '';
    if (typeof delta !== 'string') throw new Error('the `arguments` of a tool_call chunk must be a string');
    this.#hasCalledSinceText = true;
    const known = this.#calls.get(id);
    const call = known ?? { name, arguments: '', isComplete: false };
    this.#calls.set(id, call);
    call.arguments += delta;
    if (known && !delta && !this.#isAsked(id)) return;
    this.#showCall(id);
  }

  #isAsked(id: string): boolean {
    return this.#parts().some((part) => part.type === 'tool-call' && part.id === id && part.approval !== undefined);
  }

  /** Writes the part of a call anew: its requests are forgotten. */
  #showCall(id: string): void {
    const call = this.#calls.get(id);
    if (!call) return;
    const state = call.isComplete ? 'input-complete' : call.arguments ? 'input-streaming' : 'awaiting-input';
    const parts = this.#parts();
    const at = parts.findIndex((part) => part.type === 'tool-call' && part.id === id);
    parts[at < 0 ? parts.length : at] = { type: 'tool-call', id, name: call.name, arguments: call.arguments, state };
  }

  /** Text, `done` and the end complete all inputs. */
  #complete(): void {
    for (const [id, call] of this.#calls) {
      if (call.isComplete) continue;
      call.isComplete = true;
      this.#showCall(id);
    }
  }

  #result(toolCallId: string, fields: { content: unknown; state: 'complete' | 'error'; error?: string }, isPage = false): void {
    const matches = (part: MessagePart) => part.type === 'tool-result' && part.toolCallId === toolCallId;
    // What the page gives stands beside the call, what the server gives in the answer.
    const at = isPage
      ? this.#messages.findLastIndex(({ parts }) => parts.some((part) => part.type === 'tool-call' && part.id === toolCallId))
      : this.#messages.length - 1;
    const parts = this.#parts(at);
    const held = parts.findIndex(matches);
    parts[held < 0 ? parts.length : held] = { type: 'tool-result', toolCallId, ...fields };
  }
}

/** A text that continues what is there is taken, one that is there already changes nothing, anything else is appended. */
const extend = (held: string, whole: string): string => (whole.startsWith(held) ? whole : held.startsWith(whole) ? held : held + whole);

/** What a person decided about a call. */
export interface Decision {
  conversationId: string;
  /** `approval.id` of the part. */
  approvalId: string;
  approved: boolean;
  reason?: string;
}

/**
 * Sends a decision about a call. The client's own request is the same for yes and no, so it is sent before
 * `addToolApprovalResponse`, which then continues with the run.
 *
 * @example
 * ```ts
 * await decide('/v1/tanstack/chat', { conversationId, approvalId: part.approval.id, approved: true });
 * await addToolApprovalResponse({ id: part.approval.id, approved: true });
 * ```
 */
export async function decide(url: string, decision: Decision, init: RequestInit = {}): Promise<void> {
  const headers = new Headers(init.headers);
  headers.set('content-type', 'application/json');
  const response = await fetch(url, { ...init, method: 'POST', headers, body: JSON.stringify(decision) });
  if (!response.ok) throw await errorOf(response);
}
