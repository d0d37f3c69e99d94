/**
 * Streams of AG-UI, which CopilotKit and TanStack AI (0.3 and later) speak, read to the messages that its own client builds.
 *
 * @packageDocumentation
 */
import { Draft } from './draft.js';
import { applyPatch } from './json-patch.js';
import { readSnapshots } from './read-snapshots.js';
import { readStream as readValues, type ReadOptions, type StreamSource } from './read-stream.js';

/** An event: `{ type: 'TEXT_MESSAGE_CONTENT', messageId, delta }` and so on. */
export type AgUiEvent = { type: string } & Record<string, unknown>;

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
  encryptedValue?: string;
}

/** A message as AG-UI has it. */
export interface AgUiMessage {
  id: string;
  role: 'developer' | 'system' | 'assistant' | 'user' | 'tool' | 'activity' | 'reasoning';
  content?: unknown;
  name?: string;
  toolCalls?: ToolCall[];
  toolCallId?: string;
  activityType?: string;
  encryptedValue?: string;
  subagentRunId?: string;
  [field: string]: unknown;
}

/** What the run waits for. The next request answers it in `resume`. */
export type AgUiInterrupt = { id: string; reason: string } & Record<string, unknown>;

/** Everything that a run builds. */
export interface AgUiState {
  messages: readonly AgUiMessage[];
  /** The state that is shared with the page. */
  state: unknown;
  interrupts: readonly AgUiInterrupt[];
  status: 'running' | 'finished' | 'failed';
  error?: { message: string; code?: string };
}

/** Reads the events of a stream, over SSE or NDJSON. */
export const readStream = (source: StreamSource, options?: ReadOptions): AsyncGenerator<AgUiEvent, void, undefined> =>
  readValues<AgUiEvent>(source, options);

export interface AgUiReducerOptions {
  messages?: readonly AgUiMessage[] | undefined;
  state?: unknown;
  /** Called for `CUSTOM` events. */
  onCustom?: ((name: string, value: unknown) => void) | undefined;
}

/**
 * Reads what a stream builds, as often as bytes arrive.
 *
 * @example
 * ```ts
 * for await (const { messages, interrupts } of readRun(response, { messages: history })) render(messages, interrupts);
 * ```
 */
export const readRun = (
  source: StreamSource,
  { messages, state, onCustom, ...options }: ReadOptions & AgUiReducerOptions = {},
): AsyncGenerator<AgUiState, void, undefined> => readSnapshots(source, new AgUiReducer({ messages, state, onCustom }), options);

/** Builds messages and state from events. What it does not know, and what has no place, is passed over. */
export class AgUiReducer {
  #draft = new Draft();
  #messages: readonly AgUiMessage[];
  #state: unknown;
  #interrupts: readonly AgUiInterrupt[] = [];
  #status: AgUiState['status'] = 'running';
  #error: AgUiState['error'];
  #onCustom: ((name: string, value: unknown) => void) | undefined;
  /** What chunks without an id continue, by kind and subagent. */
  #lanes = new Map<string, string>();
  #thought = '';

  constructor({ messages = [], state, onCustom }: AgUiReducerOptions = {}) {
    this.#messages = messages;
    this.#state = state;
    this.#onCustom = onCustom;
  }

  /** The state so far. It is never changed afterwards. */
  snapshot(): AgUiState {
    this.#draft.seal();
    return {
      messages: this.#messages,
      state: this.#state,
      interrupts: this.#interrupts,
      status: this.#status,
      ...(this.#error ? { error: this.#error } : {}),
    };
  }

  apply(event: AgUiEvent): void {
    // Older senders have other names for thoughts, and no ids.
    if (/^THINKING_TEXT/.test(event.type)) {
      const type = event.type.replace('THINKING_TEXT', 'REASONING');
      if (type.endsWith('START')) this.#thought = `thinking-${this.#messages.length + 1}`;
      return this.apply({ messageId: this.#thought, ...event, type });
    }
    const { type, messageId, toolCallId, delta, subagentRunId } = event as unknown as Record<string, string>;
    switch (type) {
      case 'RUN_STARTED': {
        this.#status = 'running';
        this.#error = undefined;
        this.#interrupts = [];
        this.#lanes.clear();
        const { messages = [] } = (event['input'] ?? {}) as { messages?: AgUiMessage[] };
        for (const message of messages) if (this.#find(message.id) < 0) this.#push(message);
        break;
      }
      case 'RUN_FINISHED':
        this.#status = 'finished';
        this.#interrupts = (event['outcome'] as { interrupts?: AgUiInterrupt[] } | undefined)?.interrupts ?? [];
        break;
      case 'RUN_ERROR':
        this.#status = 'failed';
        this.#error = { message: event['message'] as string, ...(event['code'] === undefined ? {} : { code: event['code'] as string }) };
        break;
      case 'TEXT_MESSAGE_START':
      case 'REASONING_MESSAGE_START':
        this.#startText(event, messageId as string);
        break;
      case 'TEXT_MESSAGE_CONTENT':
      case 'REASONING_MESSAGE_CONTENT':
        this.#append(messageId as string, delta as string);
        break;
      case 'TEXT_MESSAGE_CHUNK':
      case 'REASONING_MESSAGE_CHUNK': {
        const id = this.#lane(type, subagentRunId, messageId);
        if (id === undefined) break;
        if (this.#find(id) < 0) this.#startText(event, id);
        if (delta) this.#append(id, delta);
        break;
      }
      case 'TOOL_CALL_START':
        this.#startCall(event, toolCallId as string);
        break;
      case 'TOOL_CALL_ARGS':
        this.#editCall(toolCallId as string, (call) => (call.function.arguments += delta));
        break;
      case 'TOOL_CALL_CHUNK': {
        const id = this.#lane(type, subagentRunId, toolCallId);
        if (id === undefined) break;
        if (!this.#editCall(id, () => {})) this.#startCall(event, id);
        if (delta) this.#editCall(id, (call) => (call.function.arguments += delta));
        break;
      }
      case 'TOOL_CALL_RESULT':
        this.#putResult(mark(event, { id: messageId as string, toolCallId: toolCallId as string, role: 'tool', content: event['content'] }));
        break;
      case 'STATE_SNAPSHOT':
        this.#state = event['snapshot'];
        break;
      case 'STATE_DELTA':
        this.#state = patched(this.#state, event['delta']);
        break;
      case 'MESSAGES_SNAPSHOT':
        if (Array.isArray(event['messages'])) this.#reconcile((event['messages'] as AgUiMessage[]).filter((message) => ROLES.test(message?.role)));
        break;
      case 'ACTIVITY_SNAPSHOT': {
        const at = this.#find(messageId as string);
        const { activityType, content } = event as { activityType?: string; content?: unknown };
        const activity = mark(event, { id: messageId as string, role: 'activity', activityType: activityType as string, content });
        if (at < 0) this.#push(activity);
        else if (event['replace'] !== false) this.#own()[at] = activity;
        break;
      }
      case 'ACTIVITY_DELTA': {
        const at = this.#find(messageId as string);
        if (this.#messages[at]?.role !== 'activity') break;
        const message = this.#edit(at);
        message.content = patched(message.content ?? {}, event['patch']);
        if (event['activityType'] !== undefined) message.activityType = event['activityType'] as string;
        break;
      }
      case 'REASONING_ENCRYPTED_VALUE': {
        const { entityId, encryptedValue, subtype } = event as unknown as Record<string, string>;
        const at = this.#find(entityId as string);
        if (subtype === 'tool-call') this.#editCall(entityId as string, (call) => (call.encryptedValue = encryptedValue as string));
        else if (at >= 0) this.#edit(at).encryptedValue = encryptedValue as string;
        break;
      }
      case 'CUSTOM':
        this.#onCustom?.(event['name'] as string, event['value']);
    }
  }

  #find(id: string): number {
    return this.#messages.findIndex((message) => message.id === id);
  }

  #own(): AgUiMessage[] {
    return (this.#messages = this.#draft.own(this.#messages as AgUiMessage[])) as AgUiMessage[];
  }

  #edit(at: number): AgUiMessage {
    const messages = this.#own();
    return (messages[at] = this.#draft.own(messages[at] as AgUiMessage));
  }

  #push(message: AgUiMessage): void {
    this.#own().push(message);
  }

  /** The id that a chunk belongs to: its own, or that of the chunk of its kind before it. */
  #lane(type: string, subagent: string | undefined, id: string | undefined): string | undefined {
    const lane = subagent ?? '';
    const held = this.#lanes.get(lane);
    const known = id ?? (held?.startsWith(`${type} `) ? held.slice(type.length + 1) : undefined);
    if (known !== undefined) this.#lanes.set(lane, `${type} ${known}`);
    return known;
  }

  #startText(event: AgUiEvent, id: string): void {
    if (this.#find(id) >= 0) return;
    const role = event.type.startsWith('REASONING') ? 'reasoning' : ((event['role'] as AgUiMessage['role'] | undefined) ?? 'assistant');
    this.#push(mark(event, { id, role, content: '', ...(event['name'] === undefined ? {} : { name: event['name'] as string }) }));
  }

  #append(id: string, delta: string): void {
    const at = this.#messages.findLastIndex((message) => message.id === id);
    // A message that is something else takes no text.
    if (at < 0 || this.#messages[at]?.role === 'activity') return;
    const message = this.#edit(at);
    message.content = `${typeof message.content === 'string' ? message.content : ''}${delta}`;
  }

  /** A call is part of the assistant's message that it names, or a message of its own. */
  #startCall(event: AgUiEvent, id: string): void {
    const name = event['toolCallName'] as string;
    if (this.#editCall(id, (call) => (call.function.name = name))) return;
    const call: ToolCall = { id, type: 'function', function: { name, arguments: '' } };
    const parent = event['parentMessageId'] as string | undefined;
    const at = parent === undefined ? -1 : this.#find(parent);
    if (this.#messages[at]?.role === 'assistant') {
      const message = this.#edit(at);
      message.toolCalls = [...(message.toolCalls ?? []), call];
    } else this.#push(mark(event, { id: at < 0 ? (parent ?? id) : id, role: 'assistant', toolCalls: [call] }));
  }

  /** A result stands after its call, and after the results of the same message. */
  #putResult(result: AgUiMessage): void {
    let at = this.#messages.findLastIndex(({ toolCalls }) => toolCalls?.some(({ id }) => id === result.toolCallId));
    if (at < 0) return this.#push(result);
    do at += 1;
    while (this.#messages[at]?.role === 'tool');
    this.#own().splice(at, 0, result);
  }

  #editCall(id: string, change: (call: ToolCall) => void): boolean {
    const at = this.#messages.findLastIndex(({ toolCalls }) => toolCalls?.some((call) => call.id === id));
    if (at < 0) return false;
    const message = this.#edit(at);
    const calls = (message.toolCalls = this.#draft.own(message.toolCalls as ToolCall[]));
    const index = calls.findIndex((call) => call.id === id);
    const call = (calls[index] = this.#draft.own(calls[index] as ToolCall));
    call.function = this.#draft.own(call.function);
    change(call);
    return true;
  }

  /** Known messages are replaced where they stand, new ones added, missing ones removed. Thoughts and activities stay unless there are any. */
  #reconcile(snapshot: readonly AgUiMessage[]): void {
    const stays = ({ id, role }: AgUiMessage) =>
      snapshot.some((message) => message.id === id) || ((role === 'reasoning' || role === 'activity') && !snapshot.some((message) => message.role === role));
    const kept = this.#messages.filter(stays).map((held) => snapshot.find(({ id }) => id === held.id) ?? held);
    this.#messages = [...kept, ...snapshot.filter(({ id }) => !kept.some((message) => message.id === id))];
  }
}

const ROLES = /^(developer|system|assistant|user|tool|activity|reasoning)$/;

/** A patch that does not fit changes nothing. Unknown operations are left out. */
function patched(document: unknown, patch: unknown): unknown {
  try {
    return applyPatch(document, (patch as { op: string }[]).filter(({ op }) => /^(add|remove|replace|move|copy|test)$/.test(op)));
  } catch {
    return document;
  }
}

/** A message keeps which subagent wrote it. */
const mark = ({ subagentRunId }: AgUiEvent, message: AgUiMessage): AgUiMessage =>
  subagentRunId === undefined ? message : { ...message, subagentRunId: subagentRunId as string };
