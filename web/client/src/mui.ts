/**
 * Streams for MUI X Chat: chunks and envelopes, read to the messages that its own client builds.
 *
 * @packageDocumentation
 */
import { assign } from './assign.js';
import { Draft } from './draft.js';
import { errorOf } from './errors.js';
import { readSnapshots } from './read-snapshots.js';
import { readStream, type ReadOptions, type StreamSource } from './read-stream.js';

export { createStream } from './create-stream.js';
export { readStream } from './read-stream.js';

/** A chunk: `{ type: 'text-delta', id, delta }` and so on. */
export type ChatMessageChunk = { type: string } & Record<string, unknown>;

/** A chunk with its place in the stream, so that it can be dropped if it comes twice and wait if it comes early. */
export interface ChatStreamEnvelope {
  eventId?: string;
  sequence?: number;
  chunk: ChatMessageChunk;
}

/** A tool call, through its whole life. */
export type ToolInvocation = { toolCallId: string; state: string } & Record<string, unknown>;

export type ChatMessagePart = { type: string; toolInvocation?: ToolInvocation } & Record<string, unknown>;

/** A message as MUI X Chat has it. */
export interface ChatMessage {
  id: string;
  role: 'system' | 'user' | 'assistant';
  status?: 'sending' | 'streaming' | 'sent' | 'cancelled' | 'error';
  parts: ChatMessagePart[];
  metadata?: Record<string, unknown>;
  author?: unknown;
}

/**
 * Opens a stream of chunks for an adapter of MUI, from a URL of any server that sends them as events.
 *
 * @example
 * ```ts
 * const adapter = { sendMessage: ({ signal }) => fromSSE('/api/chat', signal) };
 * ```
 */
export async function fromSSE(url: string, signal: AbortSignal): Promise<ReadableStream<ChatMessageChunk | ChatStreamEnvelope>> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw await errorOf(response);
  const chunks = readStream<ChatMessageChunk | ChatStreamEnvelope>(response, { signal });
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return();
    },
  });
}

/** Puts envelopes in order and drops those that were seen. */
export class EnvelopeReader {
  #waiting = new Map<number, ChatMessageChunk>();
  #seen: Set<string>;
  /** The sequence to continue from after a reconnect. */
  nextSequence: number | undefined;

  /** After a reconnect: where the stream before it stopped, which may be its reader. */
  constructor({ nextSequence, seenEventIds = [] }: { nextSequence?: number | undefined; seenEventIds?: Iterable<string> | undefined } = {}) {
    this.nextSequence = nextSequence;
    this.#seen = new Set(seenEventIds);
  }

  /** The events that were seen, for a reader after a reconnect. */
  get seenEventIds(): string[] {
    return [...this.#seen];
  }

  /** The chunk, if it is the next one and nothing waits, as it nearly always is: `read` without a list. */
  next(item: ChatMessageChunk | ChatStreamEnvelope): ChatMessageChunk | undefined {
    if (!isEnvelope(item)) return item;
    const { eventId, sequence, chunk } = item;
    if (sequence === undefined || sequence !== this.nextSequence || this.#waiting.size > 0) return undefined;
    if (eventId) {
      const { size } = this.#seen;
      if (this.#seen.add(eventId).size === size) return undefined;
    }
    this.nextSequence = sequence + 1;
    return chunk;
  }

  /** The chunks that can be applied now that this one has come. A chunk without an envelope is taken as it is. */
  read(item: ChatMessageChunk | ChatStreamEnvelope): ChatMessageChunk[] {
    if (!isEnvelope(item)) return [item];
    const { eventId, sequence, chunk } = item;
    if (eventId) {
      if (this.#seen.has(eventId)) return [];
      this.#seen.add(eventId);
    }
    if (sequence === undefined || sequence === null) return [chunk];
    this.nextSequence ??= sequence;
    const ready: ChatMessageChunk[] = [];
    if (sequence < this.nextSequence) return ready;
    if (!this.#waiting.has(sequence)) this.#waiting.set(sequence, chunk);
    for (let next = this.#waiting.get(this.nextSequence); next !== undefined; next = this.#waiting.get(this.nextSequence)) {
      this.#waiting.delete(this.nextSequence);
      this.nextSequence += 1;
      ready.push(next);
    }
    return ready;
  }
}

const isEnvelope = (item: object | null): item is ChatStreamEnvelope => typeof item === 'object' && item !== null && 'chunk' in item;

export interface ChatMessageReducerOptions {
  /** The messages that the conversation already has. */
  messages?: readonly ChatMessage[] | undefined;
  /** The id of the answer if the stream names none. */
  messageId?: string | undefined;
  /** After a reconnect: `new EnvelopeReader(before)` with the reader of the stream before it. */
  envelopes?: EnvelopeReader | undefined;
  /** Called for data, transient data too. */
  onData?: ((data: ChatMessageChunk) => void) | undefined;
}

/**
 * Reads the messages that a stream builds, as often as bytes arrive.
 *
 * @example
 * ```ts
 * for await (const messages of readMessages(response, { messages: history })) render(messages);
 * ```
 */
export const readMessages = (
  source: StreamSource,
  { messages, messageId, envelopes, onData, ...options }: ReadOptions & ChatMessageReducerOptions = {},
): AsyncGenerator<readonly ChatMessage[], void, undefined> => readSnapshots(source, new ChatMessageReducer({ messages, messageId, envelopes, onData }), options);

/** The state that a chunk brings a tool call to. */
const STATES: Record<string, string> = {
  'tool-input-start': 'input-streaming', 'tool-input-delta': 'input-streaming', 'tool-input-available': 'input-available', 'tool-input-error': 'output-error',
  'tool-approval-request': 'approval-requested', 'tool-output-available': 'output-available', 'tool-output-error': 'output-error', 'tool-output-denied': 'output-denied',
};

/** Builds messages from chunks and envelopes. */
export class ChatMessageReducer {
  #draft = new Draft();
  #messages: readonly ChatMessage[];
  #id: string | undefined;
  #envelopes: EnvelopeReader;
  #onData: ((data: ChatMessageChunk) => void) | undefined;
  /** The places of texts and thoughts that are open, by kind and id. */
  #open = new Map<string, number>();
  /** The text that the last chunk was a delta of, which may be changed until the next snapshot. */
  #growing: { id: unknown; part: { text?: unknown } } | undefined;
  #hasRead = false;
  /** `finish` or `abort` has been read. */
  isDone = false;
  /** The stream was closed without either: it can be continued. */
  isDisconnect = false;
  finishReason: string | undefined;
  /** The text of the run's error. */
  error: string | undefined;

  constructor({ messages = [], messageId, envelopes = new EnvelopeReader(), onData }: ChatMessageReducerOptions = {}) {
    this.#messages = messages;
    this.#id = messageId;
    this.#envelopes = envelopes;
    this.#onData = onData;
  }

  /** The messages so far. They are never changed afterwards. */
  snapshot(): readonly ChatMessage[] {
    this.#growing = undefined;
    this.#draft.seal();
    return this.#messages;
  }

  apply(item: ChatMessageChunk | ChatStreamEnvelope): void {
    // A sign of life has no place in a message.
    if ((item as ChatMessageChunk | null)?.type === 'ping') return;
    const next = this.#envelopes.next(item);
    if (next) this.#apply(next);
    else for (const chunk of this.#envelopes.read(item)) this.#apply(chunk);
  }

  /** The stream was closed. Without a terminal chunk that is an error, and can be recovered by a reconnect. */
  end(): void {
    if (this.isDone) return;
    this.isDisconnect = true;
    this.#finish('error');
  }

  #apply(chunk: ChatMessageChunk): void {
    if (this.isDone) return;
    const { type, id, delta } = chunk;
    // Most chunks continue the text of the chunk before them.
    if (type === 'text-delta' && this.#growing && this.#growing.id === id) {
      this.#growing.part.text += delta as string;
      return;
    }
    this.#growing = undefined;
    this.#hasRead = true;
    const [, kind, step] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? [];
    if (kind) this.#block(kind, step as string, chunk);
    else if (STATES[type]) this.#tool(chunk);
    else if (type.startsWith('data-')) {
      const { data, transient } = chunk;
      this.#onData?.(chunk);
      this.#push(assign<ChatMessagePart>({ type }, { id, data, transient }));
    } else if (type === 'source-url' || type === 'source-document') {
      const { sourceId, url, title, text } = chunk;
      this.#push(assign<ChatMessagePart>({ type, sourceId }, type === 'source-url' ? { url, title } : { title, text }));
    } else if (type === 'file') {
      const { mediaType, url, filename } = chunk;
      this.#push(assign<ChatMessagePart>({ type, mediaType, url }, { filename }));
    } else if (type === 'start-step') this.#push({ type: 'step-start' });
    else if (type === 'message-metadata') {
      const message = this.#message();
      message.metadata = { ...message.metadata, ...(chunk['metadata'] as object) };
    } else if (type === 'message-updated') this.#message().parts = (chunk['message'] as ChatMessage).parts;
    else if (type === 'start') {
      const named = (chunk['messageId'] as string | undefined) ?? this.#id;
      // Another message has texts of its own.
      if (named !== this.#id) this.#open = new Map();
      this.#id = named;
      const message = this.#message();
      message.status = 'streaming';
      if (chunk['author'] !== undefined) message.author ??= chunk['author'];
    } else if (type === 'error') {
      this.error = chunk['errorText'] as string;
      this.#finish('error');
    } else if (type === 'finish' || type === 'abort') {
      this.#id ??= chunk['messageId'] as string | undefined;
      this.finishReason = chunk['finishReason'] as string | undefined;
      this.#finish(type === 'finish' ? 'sent' : 'cancelled');
    }
  }

  #finish(status: NonNullable<ChatMessage['status']>): void {
    this.isDone = status !== 'error' || this.error !== undefined;
    if (!this.#hasRead || (this.#find() < 0 && status === 'error')) return;
    const message = this.#message();
    message.status = status;
    for (const place of this.#open.values()) if (message.parts[place]) this.#part(place)['state'] = 'done';
    this.#open.clear();
  }

  #find(): number {
    return this.#messages.findLastIndex(({ id }) => id === this.#id);
  }

  /** The answer, to be changed, which is begun here if need be. */
  #message(): ChatMessage {
    if (this.#id === undefined) throw new Error('the stream does not name its message: begin with `start` and a `messageId`, or give the reader one');
    let at = this.#find();
    const messages = (this.#messages = this.#draft.own(this.#messages as ChatMessage[])) as ChatMessage[];
    if (at < 0) at = messages.push({ id: this.#id, role: 'assistant', status: 'streaming', parts: [] }) - 1;
    const message = (messages[at] = this.#draft.own(messages[at] as ChatMessage));
    message.parts = this.#draft.own(message.parts);
    return message;
  }

  #push(part: ChatMessagePart): number {
    return this.#message().parts.push(part) - 1;
  }

  #part(place: number): ChatMessagePart {
    const { parts } = this.#message();
    return (parts[place] = this.#draft.own(parts[place] as ChatMessagePart));
  }

  #block(type: string, step: string, { id, delta }: ChatMessageChunk): void {
    const key = `${type} ${id}`;
    if (step === 'start' || (step === 'delta' && !this.#open.has(key))) this.#open.set(key, this.#push({ type, text: '', state: 'streaming' }));
    const place = this.#open.get(key);
    if (place === undefined || step === 'start') return;
    const part = this.#part(place);
    if (step === 'delta') {
      part['text'] = `${part['text']}${delta}`;
      if (type === 'text') this.#growing = { id, part: part as object };
    } else {
      part['state'] = 'done';
      this.#open.delete(key);
    }
  }

  #tool({ type, toolCallId, toolName, dynamic, input, approvalId, output, preliminary, errorText, reason }: ChatMessageChunk): void {
    const { parts } = this.#message();
    let place = parts.findIndex(({ toolInvocation }) => toolInvocation?.toolCallId === toolCallId);
    const isNew = place < 0;
    const announces = type === 'tool-input-start' || type === 'tool-input-available' || type === 'tool-approval-request';
    if (isNew && !announces) return;
    const state = STATES[type] as string;
    if (isNew) place = this.#push({ type: dynamic === true ? 'dynamic-tool' : 'tool', toolInvocation: { toolCallId: toolCallId as string, state } });
    const part = this.#part(place);
    const call: ToolInvocation = { ...(part.toolInvocation as ToolInvocation), state };
    part.toolInvocation = call;
    if (announces) assign(call, { toolName });
    if (type === 'tool-input-available' || type === 'tool-approval-request') assign(call, { input });
    if (type === 'tool-approval-request') assign(call, { approvalId });
    if (type === 'tool-output-available') assign(call, { output, preliminary });
    if (errorText !== undefined || state === 'output-error') assign(call, { errorText });
    if (type === 'tool-output-denied') call['approval'] = assign({ approved: false } as Record<string, unknown>, { reason });
  }
}
