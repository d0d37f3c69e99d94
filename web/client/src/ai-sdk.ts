/**
 * Streams of the AI SDK (`ai` 5 to 7): the UI message stream, read to the messages that its own client builds.
 *
 * @packageDocumentation
 */
import { assign, isObject, merge } from './assign.js';
import { Draft } from './draft.js';
import { parsePartialJson } from './partial-json.js';
import { readSnapshots } from './read-snapshots.js';
import { parseEvent, readEvents, type ReadOptions, type StreamSource } from './read-stream.js';

/** A chunk of the stream: `{ type: 'text-delta', id, delta }` and so on. */
export type UIMessageChunk = { type: string } & Record<string, unknown>;

/** A part of a message, with a `type` as the AI SDK has them: `text`, `tool-<name>`, `data-<name>`, … */
export type UIMessagePart = { type: string } & Record<string, unknown>;

/** A message as `useChat` of the AI SDK has it. */
export interface UIMessage {
  id: string;
  role: 'system' | 'user' | 'assistant';
  metadata?: unknown;
  parts: UIMessagePart[];
}

/** Reads the chunks of a stream. `[DONE]` ends nothing: the client of the AI SDK reads on. */
export async function* readStream(source: StreamSource, options?: ReadOptions): AsyncGenerator<UIMessageChunk, void, undefined> {
  for await (const event of readEvents(source, { keepTail: false, ...options })) {
    if (event.data === '[DONE]') continue;
    const chunk = parseEvent<UIMessageChunk>(event);
    check(chunk);
    yield chunk;
  }
}

/**
 * Reads the message that a stream builds, as often as bytes arrive.
 *
 * @example
 * ```ts
 * for await (const message of readMessages(await fetch('/api/chat', { method: 'POST', body }))) render(message);
 * ```
 */
export const readMessages = (
  source: StreamSource,
  { message, onData, ...options }: ReadOptions & UIMessageReducerOptions = {},
): AsyncGenerator<UIMessage, void, undefined> => readSnapshots(source, new UIMessageReducer({ message, onData }), { keepTail: false, ...options });

export interface UIMessageReducerOptions {
  /** The message that the stream continues. */
  message?: UIMessage | undefined;
  /** Called for data, transient data too. */
  onData?: ((data: UIMessagePart) => void) | undefined;
}

/** Builds a message from chunks. A chunk that the AI SDK's client refuses is an error. */
export class UIMessageReducer {
  #draft = new Draft();
  #message: UIMessage;
  #onData: ((data: UIMessagePart) => void) | undefined;
  /** The places of texts and thoughts that are open, by kind and id. */
  #open = new Map<string, number>();
  /** The text of the inputs that are streamed. */
  #inputs = new Map<string, string>();
  /** The parts whose streamed input has grown. Their value is parsed once for each snapshot, not for each delta. */
  #grown = new Map<number, string>();
  /** The text that the last chunk was a delta of, which may be changed until the next snapshot. */
  #growing: { id: string; part: { text?: unknown } } | undefined;
  /** The text of the last error in the stream. */
  error: string | undefined;
  finishReason: string | undefined;
  /** `finish` or `abort` has been read. */
  isDone = false;

  constructor({ message, onData }: UIMessageReducerOptions = {}) {
    this.#message = message?.role === 'assistant' ? message : { id: '', role: 'assistant', parts: [] };
    this.#onData = onData;
  }

  /** The message so far. It is never changed afterwards. */
  snapshot(): UIMessage {
    for (const [place, text] of this.#grown) assign(this.#part(place), { input: safe(parsePartialJson(text)) });
    this.#grown.clear();
    this.#growing = undefined;
    this.#draft.seal();
    return this.#message;
  }

  apply(chunk: UIMessageChunk): void {
    // Most chunks continue the text of the chunk before them.
    if (isTextDelta(chunk) && this.#growing?.id === chunk.id) {
      this.#growing.part.text += chunk.delta;
      return;
    }
    this.#growing = undefined;
    check(chunk);
    // Nothing is read after the terminal chunk.
    if (this.isDone) return;
    const { type, id } = chunk as { type: string; id: string };
    const [, kind, step] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? [];
    if (kind) this.#block(kind, step as string, chunk);
    else if (type.startsWith('tool-')) this.#tool(chunk as never);
    else if (type.startsWith('data-')) this.#data(chunk, id);
    else if (Object.hasOwn(PARTS, type)) this.#push(assign<UIMessagePart>({ type }, Object.fromEntries((PARTS[type] as string).split(' ').map((key) => [key, chunk[key]]))));
    else if (type === 'start-step') this.#push({ type: 'step-start' });
    else if (type === 'finish-step') this.#open.clear();
    else if (type === 'reset-step') {
      const message = this.#own();
      const length = (message.parts.length = message.parts.findLastIndex((part) => part.type === 'step-start') + 1);
      for (const place of this.#grown.keys()) if (place >= length) this.#grown.delete(place);
      this.#open.clear();
    } else if (type === 'error') this.error = chunk['errorText'] as string;
    else if (type === 'start') {
      const { messageId } = chunk as { messageId?: string };
      // The client forgets everything when the message gets another name.
      if (messageId !== undefined && this.#message.id !== messageId) {
        this.#message = { id: messageId, role: 'assistant', parts: [] };
        this.#grown.clear();
        this.#open.clear();
        this.#inputs.clear();
      }
    } else if (type === 'finish' || type === 'abort') {
      this.isDone = true;
      this.finishReason = chunk['finishReason'] as string | undefined;
    }
    if (chunk['messageMetadata'] != null) {
      const message = this.#own();
      message.metadata = merge(message.metadata, chunk['messageMetadata'], UNSAFE);
    }
  }

  #own(): UIMessage {
    const message = (this.#message = this.#draft.own(this.#message));
    message.parts = this.#draft.own(message.parts);
    return message;
  }

  #push(part: UIMessagePart): number {
    return this.#own().parts.push({ ...part }) - 1;
  }

  #part(place: number): UIMessagePart {
    const { parts } = this.#own();
    return (parts[place] = this.#draft.own(parts[place] as UIMessagePart));
  }

  #block(type: string, step: string, { id, delta, citations, providerMetadata }: UIMessageChunk): void {
    const key = `${type} ${id}`;
    if (step === 'start') this.#open.set(key, this.#push(assign<UIMessagePart>({ type, text: '', state: 'streaming' }, { providerMetadata, id: type === 'reasoning' ? id : undefined })));
    const place = this.#open.get(key);
    if (place === undefined) throw new Error(`Received ${type}-${step} for missing ${type} part with ID "${id}".`);
    if (step === 'start') return;
    const part = this.#part(place);
    if (step === 'delta') {
      part['text'] = `${part['text']}${delta}`;
      if (type === 'text') this.#growing = { id: id as string, part: part as object };
    } else {
      part['state'] = 'done';
      if (citations !== undefined && type === 'text') part['citations'] = citations;
      this.#open.delete(key);
    }
    if (providerMetadata !== undefined) part['providerMetadata'] = providerMetadata;
  }

  #data({ transient, ...data }: UIMessageChunk, id: string | undefined): void {
    this.#onData?.({ ...data, ...(transient === undefined ? {} : { transient }) });
    if (transient) return;
    const place = id === undefined ? -1 : this.#message.parts.findIndex((part) => part.type === data.type && part['id'] === id);
    if (place < 0) this.#push(data);
    else this.#part(place)['data'] = data['data'];
  }

  /** The place of a call: in the current step first, and of the kind that is asked for. */
  #find(matches: (part: UIMessagePart) => boolean): number {
    const { parts } = this.#message;
    const step = parts.findLastIndex((part) => part.type === 'step-start');
    const place = parts.findIndex((part, at) => at > step && matches(part));
    return place < 0 ? parts.findLastIndex(matches) : place;
  }

  #tool(chunk: UIMessageChunk & { toolCallId: string; toolName: string; approvalId: string }): void {
    const { type, toolCallId, toolName, approvalId, input, output, preliminary, dynamic, title, errorText, providerExecuted, providerMetadata, toolMetadata } = chunk;
    if (type.startsWith('tool-input') && type !== 'tool-input-delta') {
      const step = this.#message.parts.findLastIndex((part) => part.type === 'step-start');
      const held = this.#message.parts.findIndex((part, at) => at > step && part['toolCallId'] === toolCallId && isTool(part) && (type === 'tool-input-error' || (part.type === 'dynamic-tool') === (dynamic === true)));
      const isDynamic = held < 0 ? dynamic === true : this.#message.parts[held]?.type === 'dynamic-tool';
      const name: UIMessagePart = isDynamic ? { type: 'dynamic-tool', toolName } : { type: `tool-${toolName}` };
      const at = held < 0 ? this.#push({ ...name, toolCallId }) : held;
      const part = this.#part(at);
      this.#grown.delete(at);
      if (type === 'tool-input-start') this.#inputs.set(toolCallId, '');
      assign(part, { ...name, input, errorText, rawInput: undefined, state: { 'tool-input-start': 'input-streaming', 'tool-input-available': 'input-available' }[type] ?? 'output-error' });
      keep(part, { title, providerExecuted, toolMetadata, callProviderMetadata: providerMetadata });
      delete part['output'];
      delete part['preliminary'];
      return;
    }
    const place = this.#find((part) =>
      type === 'tool-approval-response' ? (part['approval'] as { id?: unknown } | undefined)?.id === approvalId : part['toolCallId'] === toolCallId && isTool(part));
    const text = this.#inputs.get(toolCallId);
    if (place < 0 || (type === 'tool-input-delta' && text === undefined)) {
      throw new Error(`Received ${type} for missing tool call "${toolCallId ?? approvalId}".`);
    }
    const part = this.#part(place);
    if (type === 'tool-input-delta') {
      const whole = text + (chunk['inputTextDelta'] as string);
      this.#inputs.set(toolCallId, whole);
      assign(part, { state: 'input-streaming', rawInput: whole });
      this.#grown.set(place, whole);
    } else if (type === 'tool-approval-request') {
      const { signature, isAutomatic, approvalDescriptor, inputSchemaInput, reason } = chunk;
      part['state'] = 'approval-requested';
      part['approval'] = assign({ id: approvalId } as object, { signature, isAutomatic, descriptor: approvalDescriptor, inputSchemaInput, requestReason: reason } as object);
    } else if (type === 'tool-approval-response') {
      part['state'] = 'approval-responded';
      part['approval'] = assign({ ...(part['approval'] as object) } as UIMessagePart, { approved: chunk['approved'], reason: chunk['reason'] });
      keep(part, { providerExecuted, callProviderMetadata: providerMetadata });
    } else if (type === 'tool-output-denied') part['state'] = 'output-denied';
    else if (type === 'tool-output-available') {
      assign(part, { state: 'output-available', output, preliminary, errorText: undefined, rawInput: undefined });
      keep(part, { providerExecuted, toolMetadata, resultProviderMetadata: providerMetadata });
    } else if (type === 'tool-output-error') {
      assign(part, { state: 'output-error', errorText, output: undefined, preliminary: undefined });
      keep(part, { providerExecuted, toolMetadata, resultProviderMetadata: providerMetadata });
    }
  }
}

const isTool = ({ type }: UIMessagePart): boolean => type.startsWith('tool-') || type === 'dynamic-tool';

/** Sets the given fields and leaves the rest unchanged. */
function keep(part: UIMessagePart, fields: Record<string, unknown>): void {
  for (const key in fields) if (fields[key] !== undefined) part[key] = fields[key];
}

// What the client's schema demands

/** Keys that the client does not take, because they have harmed others. */
const UNSAFE = /^(__proto__|constructor|prototype)$/;

/** The value, or `undefined` if it has a key that the client does not take. */
function safe(value: unknown): unknown {
  const isSafe = (item: unknown): boolean =>
    typeof item !== 'object' || item === null || Object.entries(item).every(([key, inner]) =>
      key !== '__proto__' && !(key === 'constructor' && isObject(inner) && Object.hasOwn(inner, 'prototype')) && isSafe(inner));
  return isSafe(value) ? value : undefined;
}

/** The fields of parts that are as they came. */
const PARTS: Record<string, string> = {
  'source-url': 'sourceId url title providerMetadata', 'source-document': 'sourceId mediaType title filename providerMetadata',
  file: 'mediaType url providerMetadata', 'reasoning-file': 'mediaType url providerMetadata', custom: 'kind providerMetadata', 'steering-message': 'id parts',
};

/** The fields that a chunk must have. */
const REQUIRED: Record<string, string> = {
  start: '', finish: '', abort: '', 'start-step': '', 'finish-step': '', 'reset-step': '', error: 'errorText', 'message-metadata': 'messageMetadata',
  'text-start': 'id', 'text-delta': 'id delta', 'text-end': 'id', 'reasoning-start': 'id', 'reasoning-delta': 'id delta', 'reasoning-end': 'id',
  'source-url': 'sourceId url', 'source-document': 'sourceId mediaType title', file: 'url mediaType', 'reasoning-file': 'url mediaType', custom: 'kind',
  'steering-message': 'id parts', 'tool-input-start': 'toolCallId toolName', 'tool-input-delta': 'toolCallId inputTextDelta',
  'tool-input-available': 'toolCallId toolName input', 'tool-input-error': 'toolCallId toolName input errorText', 'tool-approval-request': 'approvalId toolCallId',
  'tool-approval-response': 'approvalId approved', 'tool-output-available': 'toolCallId output', 'tool-output-error': 'toolCallId errorText',
  'tool-output-denied': 'toolCallId',
};
/** Fields that later versions add are passed over. */
const STRINGS = /^(id|delta|kind|url|title|filename|reason|signature|errorText|messageId|finishReason|sourceId|mediaType|toolCallId|toolName|inputTextDelta|inputEncoding|approvalId)$/;
const BOOLEANS = /^(dynamic|preliminary|providerExecuted|transient|isAutomatic|approved)$/;
const FINISH_REASONS = /^(stop|length|content-filter|tool-calls|error|other|unknown)$/;

/** A delta of a text with nothing else in it, which fits the schema. */
function isTextDelta(chunk: UIMessageChunk): chunk is { type: string; id: string; delta: string } {
  if (chunk?.type !== 'text-delta' || typeof chunk['id'] !== 'string' || typeof chunk['delta'] !== 'string') return false;
  let fields = 0;
  for (const _ in chunk) fields += 1;
  return fields === 3;
}

/** What a citation is of. Where in the text it stands is not looked at. */
function isCitation(citation: unknown): boolean {
  const { sourceType, id, url, mediaType, title } = Object(Object(citation).source);
  const texts = { url: [id, url], document: [id, mediaType, title] }[sourceType as string];
  return !!texts?.every((text) => typeof text === 'string');
}

function check(chunk: UIMessageChunk): void {
  const refuse = (what: string) => {
    throw new Error(`Type validation failed: ${what} of ${JSON.stringify(chunk)?.slice(0, 200)}`);
  };
  if (!isObject(chunk) || typeof chunk.type !== 'string') refuse('the type');
  if (isTextDelta(chunk)) return;
  if (safe(chunk) === undefined) refuse('a key');
  const isData = chunk.type.startsWith('data-');
  const required = Object.hasOwn(REQUIRED, chunk.type) ? (REQUIRED[chunk.type] as string) : isData ? 'data' : refuse('the type');
  for (const field of required?.split(' ').filter(Boolean) ?? []) if (chunk[field] === undefined) refuse(field);
  for (const [field, value] of Object.entries(chunk)) {
    const expected = STRINGS.test(field) ? 'string' : BOOLEANS.test(field) ? 'boolean' : typeof value;
    const isMetadata = /^(tool|provider)Metadata$/.test(field);
    if (typeof value !== expected || (isMetadata && !(isObject(value) && (field === 'toolMetadata' || Object.values(value).every(isObject))))) refuse(field);
  }
  if (chunk.type === 'finish' && chunk['finishReason'] !== undefined && !FINISH_REASONS.test(String(chunk['finishReason']))) refuse('finishReason');
  const all = (field: string, fits: (item: unknown) => boolean) => {
    const list = chunk[field] ?? [];
    if (!Array.isArray(list) || !list.every(fits)) refuse(field);
  };
  if (chunk.type === 'text-end') all('citations', isCitation);
  if (chunk.type === 'steering-message') all('parts', (part) => /^(text|file)$/.test((part as UIMessagePart | null)?.type ?? ''));
}
