/**
 * Streams of the agents contract: named events, read to messages with the parts of the AI SDK.
 *
 * @packageDocumentation
 */
import type { UIMessage, UIMessagePart } from './ai-sdk.js';
import { errorOf } from './errors.js';
import { parsePartialJson } from './partial-json.js';
import { parseEvent, readEvents, type ReadOptions, type StreamSource } from './read-stream.js';

export { ChatStream, type ChatStreamOptions, type ChatStreamSnapshot } from './chat-stream.js';
export { createStream } from './create-stream.js';
export type { UIMessage, UIMessagePart };

/** An event of the stream. */
export interface StreamEvent<T = unknown> {
  type: string;
  data: T;
  /** The cursor, where the sender has one: `Last-Event-ID` continues after it. */
  id?: string;
}

/** Reads the events of a stream. */
export async function* readStream(source: StreamSource, options?: ReadOptions): AsyncGenerator<StreamEvent, void, undefined> {
  for await (const event of readEvents(source, options)) {
    if (event.data === '[DONE]') continue;
    yield { type: event.event ?? 'message', data: parseEvent(event), ...(event.id === undefined ? {} : { id: event.id }) };
  }
}

/**
 * Opens a stream of events. Aborting the signal closes it; the run continues.
 *
 * @example
 * ```ts
 * for await (const event of fromSSE('/api/chat/run_1', { signal })) messages = applyEvent(messages, event);
 * ```
 */
export async function* fromSSE(
  url: string,
  { fetch = globalThis.fetch, ...options }: ReadOptions & Omit<RequestInit, 'signal'> & { fetch?: typeof globalThis.fetch } = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const { signal, maxEventLength, onActivity, keepTail, framing, ...init } = options;
  const response = await fetch(url, { ...init, signal: signal ?? null });
  if (!response.ok) throw await errorOf(response);
  yield* readStream(response, { signal, maxEventLength, onActivity, keepTail, framing });
}

interface EventData {
  messageId?: string;
  partId?: string;
  role?: UIMessage['role'];
  delta?: string;
  toolCallId?: string;
  toolName?: string;
  state?: string;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  approval?: object;
  name?: string;
  dataId?: string;
  data?: unknown;
  transient?: boolean;
  sourceId?: string;
  url?: string;
  title?: string;
  mediaType?: string;
  filename?: string;
}

/** The ids of streamed parts and the text of streamed inputs, which are no fields of UI messages. */
const partIds = new WeakMap<UIMessagePart, string>();
const inputTexts = new WeakMap<UIMessagePart, string>();

/**
 * The messages after one event, as a new list. Messages and parts that the event does not touch keep their identity;
 * an event that changes no message gives the list back.
 *
 * @example
 * ```ts
 * messages = applyEvent(messages, { type: 'message.delta', data: { messageId: 'msg_1', delta: 'Hello' } });
 * ```
 */
export function applyEvent<Message extends MessageLike = UIMessage>(messages: Message[], event: StreamEvent): Message[] {
  return reduceEvent(messages as unknown as UIMessage[], event) as unknown as Message[];
}

/** What the messages of a page have in common: ours, those of `ai`, or its own. */
export interface MessageLike {
  id: string;
  role: string;
  parts: object[];
}

function reduceEvent(messages: UIMessage[], event: StreamEvent): UIMessage[] {
  const data = event.data as EventData;
  switch (event.type) {
    case 'message.start':
      return changeMessage(messages, data, (message) => message);
    case 'message.delta':
      return changeMessage(messages, data, (message) => addText(message, 'text', data));
    case 'reasoning.delta':
      return changeMessage(messages, data, (message) => addText(message, 'reasoning', data));
    case 'tool.call':
    case 'tool.delta':
    case 'tool.result':
      return changeTool(messages, event.type, data);
    case 'source':
      // A source of the same id says nothing new.
      if (messages.some(({ id, parts }) => id === data.messageId && parts.some((part) => part['sourceId'] === data.sourceId))) return messages;
      return addPart(messages, data, { type: 'source-url', sourceId: data.sourceId, url: data.url, ...(data.title === undefined ? {} : { title: data.title }) });
    case 'file':
      return addPart(messages, data, { type: 'file', url: data.url, mediaType: data.mediaType, ...(data.filename === undefined ? {} : { filename: data.filename }) });
    case 'data': {
      if (data.transient) return messages;
      const type = `data-${data.name}`;
      const part: UIMessagePart = { type, ...(data.dataId === undefined ? {} : { id: data.dataId }), data: data.data };
      return changeMessage(messages, data, (message) => putPart(message, (known) => data.dataId !== undefined && known.type === type && known['id'] === data.dataId, () => part));
    }
    default:
      return messages;
  }
}

/** The message that an event names, or else the last one of the assistant, which is begun here if need be. */
function changeMessage(messages: UIMessage[], { messageId, role = 'assistant' }: EventData, change: (message: UIMessage) => UIMessage): UIMessage[] {
  const at = messages.findLastIndex(({ id, role: held }) => (messageId === undefined ? held === 'assistant' : id === messageId));
  const isOwn = at >= 0 && (messageId !== undefined || at === messages.length - 1);
  if (!isOwn) return [...messages, change({ id: messageId ?? `message-${messages.length + 1}`, role, parts: [] })];
  const held = messages[at] as UIMessage;
  const changed = change(held);
  return changed === held ? messages : messages.with(at, changed);
}

function putPart(message: UIMessage, matches: (part: UIMessagePart) => boolean, change: (part?: UIMessagePart) => UIMessagePart): UIMessage {
  const at = message.parts.findLastIndex(matches);
  const part = change(message.parts[at]);
  return { ...message, parts: at < 0 ? [...message.parts, part] : message.parts.with(at, part) };
}

const addPart = (messages: UIMessage[], data: EventData, part: UIMessagePart) =>
  changeMessage(messages, data, (message) => ({ ...message, parts: [...message.parts, part] }));

/** A delta goes to the part that it names, else to the last one if it is of its kind. */
function addText(message: UIMessage, type: string, { partId, delta = '' }: EventData): UIMessage {
  const last = message.parts.at(-1);
  const matches = (part: UIMessagePart) => part.type === type && (partId === undefined ? part === last : partIds.get(part) === partId);
  return putPart(message, matches, (held) => {
    const part: UIMessagePart = { type, text: `${held?.['text'] ?? ''}${delta}` };
    const id = partId ?? (held && partIds.get(held));
    if (id !== undefined) partIds.set(part, id);
    return part;
  });
}

function changeTool(messages: UIMessage[], event: string, data: EventData): UIMessage[] {
  const matches = (part: UIMessagePart) => part['toolCallId'] === data.toolCallId;
  const holder = messages.findLast(({ parts }) => parts.some(matches));
  const known = holder?.parts.find(matches);
  // A state never goes back, and `tool.call` is the end of the input.
  if (known && rank(data.state ?? DEFAULTS[event]) < rank(known['state'])) return messages;
  return changeMessage(messages, holder ? { messageId: holder.id } : data, (message) =>
    putPart(message, matches, (held) => {
      const part: UIMessagePart = { ...held, type: data.toolName ? `tool-${data.toolName}` : (held?.type ?? 'tool-'), toolCallId: data.toolCallId };
      part['state'] = data.state ?? DEFAULTS[event];
      if (event === 'tool.delta') {
        const text = `${(held && inputTexts.get(held)) ?? ''}${data.delta ?? ''}`;
        inputTexts.set(part, text);
        const input = parsePartialJson(text);
        if (input !== undefined) part['input'] = input;
      } else if (event === 'tool.call') {
        if (data.input !== undefined) part['input'] = data.input;
        if (data.approval) part['approval'] = { ...(held?.['approval'] as object | undefined), ...data.approval };
      } else if (data.errorText === undefined) part['output'] = data.output ?? null;
      else part['errorText'] = data.errorText;
      return part;
    }),
  );
}

const DEFAULTS: Record<string, string> = { 'tool.delta': 'input-streaming', 'tool.call': 'input-available', 'tool.result': 'output-available' };

const rank = (state: unknown): number => ['input-streaming', 'input-available', 'approval-requested', 'approval-responded'].indexOf(String(state)) + 1 || 5;
