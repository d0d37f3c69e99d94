import { Draft } from './draft.js';
import { applyPatch } from './json-patch.js';
import type {
  AttemptId, ErrorInfo, Event, Interrupt, Message, MessageStatus, NativeRecord, Part, QuestionState, RunStarted, Usage,
} from './native.js';
import { applyToolEvent, isSettled, type ToolEvent } from './reduce-tool.js';
import { applyStructuredChunk, type StructuredStreamState } from './structured.js';

/** What is known of a run. */
export interface RunInfo {
  status: 'running' | 'waiting' | 'finished' | 'failed' | 'cancelled';
  started: RunStarted;
  finishReason?: string;
  usage?: Usage;
  /** The result of the run. */
  data?: unknown;
  error?: ErrorInfo;
  cancelReason?: string;
  /** The calls whose outputs the page owes. */
  pendingToolCalls: readonly string[];
}

/** The state that the records of a run build. Every part of it is immutable; what did not change keeps its identity. */
export interface RunState {
  run: RunInfo;
  messages: readonly Message[];
  /** The questions that wait for an answer. */
  interrupts: readonly Interrupt[];
  /** The structured objects by stream. A part of type `structured` has the object too. */
  structured: Readonly<Record<string, StructuredStreamState>>;
  /** The state that is shared with the page. */
  shared: unknown;
}

type Place = readonly [message: number, part: number];

/**
 * Builds messages from the records of native streams, as the server does.
 *
 * @example
 * ```ts
 * const reducer = new RunReducer();
 * for await (const record of readStream<NativeRecord>(response)) reducer.apply(record);
 * const { messages } = reducer.snapshot();
 * ```
 */
export class RunReducer {
  #draft = new Draft();
  #run: RunInfo = begun({});
  #messages: readonly Message[];
  #current = -1;
  #interrupts: readonly Interrupt[] = [];
  #structured: Readonly<Record<string, StructuredStreamState>> = {};
  #shared: unknown;
  /** Where parts are that later events change. */
  #places = new Map<string, Place>();
  #lastBlock: { key: string; place: Place } | undefined;
  /** The messages that the current run has written to. */
  #written = new Set<string>();
  #isReplaying = false;

  /** Begins with the messages that the conversation already has. */
  constructor(messages: readonly Message[] = []) {
    this.#messages = messages;
  }

  /** The state so far. It is never changed afterwards. */
  snapshot(): RunState {
    this.#draft.seal();
    return {
      run: this.#run,
      messages: this.#messages,
      interrupts: this.#interrupts,
      structured: this.#structured,
      shared: this.#shared,
    };
  }

  /** Puts a message at the end of the conversation, or in place of the one with its id. */
  put(message: Message): void {
    const at = this.#find(message.id);
    const messages = this.#ownMessages();
    messages[at < 0 ? messages.length : at] = message;
    if (at >= 0) this.#reindex();
  }

  /** Replaces the conversation. What is equal to what was there keeps its identity. */
  reset(messages: readonly Message[]): void {
    const known = new Map(this.#messages.map((message) => [message.id, message]));
    this.#messages = messages.map((message) => {
      const held = known.get(message.id);
      return held && JSON.stringify(held) === JSON.stringify(message) ? held : message;
    });
    this.#current = -1;
    this.#interrupts = [];
    this.#written.clear();
    this.#reindex();
  }

  /**
   * Applies one record.
   *
   * @throws if a structured update or a state change does not fit what is there. Nothing has changed then, and later
   * records can be applied.
   */
  apply(record: NativeRecord): void {
    const { event } = record;
    if (record.replay && !this.#isReplaying) this.#forgetRun();
    this.#isReplaying = record.replay === true;
    if (this.#hasEnded() && event.type !== 'run-started') return;
    if (this.#run.status === 'waiting' && CONTINUES.has(event.type)) this.#update({ status: 'running', pendingToolCalls: [] });
    this.#event(record, event);
  }

  #event(record: NativeRecord, event: Event): void {
    switch (event.type) {
      case 'block-started':
        this.#startBlock(record, event.kind, event.id, event.metadata);
        break;
      case 'block-delta': {
        const part = this.#block(record, event.kind, event.id) ?? this.#startBlock(record, event.kind, event.id);
        part.text += event.delta;
        if (event.metadata !== undefined) part.metadata = event.metadata;
        break;
      }
      case 'block-ended': {
        const part = this.#block(record, event.kind, event.id);
        if (!part) break;
        part.state = 'done';
        if (event.metadata !== undefined) part.metadata = event.metadata;
        this.#places.delete(this.#blockKey(record, event.kind, event.id));
        this.#lastBlock = undefined;
        break;
      }
      case 'run-started': {
        const { type: _, ...started } = event;
        this.#run = begun(started);
        this.#interrupts = [];
        if (!record.replay) this.#written.clear();
        break;
      }
      case 'run-finished':
        this.#end('finished', 'sent', { finishReason: event.reason, usage: event.usage ?? this.#run.usage, data: event.data });
        break;
      case 'run-failed': {
        const { type: _, ...error } = event;
        this.#end('failed', 'error', { error });
        break;
      }
      case 'run-cancelled':
        this.#end('cancelled', 'cancelled', { cancelReason: event.reason });
        break;
      case 'run-waiting':
        this.#end('waiting', 'sent', { usage: event.usage ?? this.#run.usage, pendingToolCalls: event.toolCalls ?? [] });
        break;
      case 'attempt-retracted':
        this.#keepParts((part) => (part.type === 'tool' && isSettled(part.state)) || (part as { attempt?: AttemptId }).attempt !== event.attempt);
        break;
      case 'message-started':
        this.#startMessage(event);
        break;
      case 'message-finished': {
        const at = this.#find(event.message);
        if (this.#messages[at]?.status === 'streaming') this.#message(at).status = 'sent';
        break;
      }
      case 'message-metadata': {
        const message = this.#message(this.#target(record));
        message.metadata = merge(message.metadata, event.metadata);
        break;
      }
      case 'message':
        this.#push(record, { type: 'text', id: 'message', text: event.content, state: 'done', ...attemptOf(record) });
        break;
      case 'step-started':
        this.#push(record, { type: 'step-start' });
        break;
      case 'source-url':
      case 'source-document':
      case 'file':
        this.#push(record, { ...event, ...attemptOf(record) } as Part);
        break;
      case 'data':
        if (!event.transient) this.#putData(record, event);
        break;
      case 'structured':
        this.#putStructured(record, event);
        break;
      case 'structured-invalidated': {
        const { [event.stream]: _, ...rest } = this.#structured;
        this.#structured = rest;
        this.#keepParts((part) => part.type !== 'structured' || part.stream !== event.stream);
        break;
      }
      case 'state-snapshot':
        this.#shared = event.state;
        break;
      case 'state-delta':
        this.#shared = applyPatch(this.#shared ?? null, event.patch);
        break;
      case 'messages-snapshot':
        this.#reconcile(event.messages);
        break;
      case 'interrupt-requested':
        this.#ask(record, event);
        break;
      case 'interrupt-answered':
        this.#closeQuestion(event.request, 'answered', event.answer);
        break;
      case 'interrupt-expired':
        this.#closeQuestion(event.request, 'expired');
        break;
      case 'usage': {
        const { type: _, ...usage } = event;
        this.#update({ usage });
        break;
      }
      case 'error': {
        const { type: _, terminal, ...error } = event;
        if (terminal) this.#end('failed', 'error', { error });
        else this.#update({ error });
        break;
      }
      default:
        // A reader passes over events that it does not know.
        if (/^(tool-(input|output|denied)|approval-)/.test(event.type)) this.#tool(record, event as ToolEvent);
    }
  }

  #hasEnded(): boolean {
    return this.#run.status !== 'running' && this.#run.status !== 'waiting';
  }

  #update(fields: Partial<RunInfo>): void {
    this.#run = { ...this.#run, ...fields };
  }

  #end(status: RunInfo['status'], open: MessageStatus, fields: { [K in keyof RunInfo]?: RunInfo[K] | undefined }): void {
    this.#update({ pendingToolCalls: [], ...(fields as Partial<RunInfo>), status });
    this.#messages.forEach((message, at) => {
      if (message.status === 'streaming') this.#message(at).status = open;
    });
  }

  // Messages and parts

  #ownMessages(): Message[] {
    return (this.#messages = this.#draft.own(this.#messages as Message[])) as Message[];
  }

  #message(at: number): Message {
    const messages = this.#ownMessages();
    return (messages[at] = this.#draft.own(messages[at] as Message));
  }

  #part(place: Place): Part | undefined {
    const message = this.#message(place[0]);
    const parts = (message.parts = this.#draft.own(message.parts));
    const part = parts[place[1]];
    return part && (parts[place[1]] = this.#draft.own(part));
  }

  #find(id: string): number {
    return this.#messages.findLastIndex((message) => message.id === id);
  }

  /** The message that a record belongs to; made if there is none. */
  #target(record: NativeRecord): number {
    const current = this.#messages[this.#current];
    if (current && (record.message === undefined || record.message === current.id)) return this.#current;
    const known = record.message === undefined ? -1 : this.#find(record.message);
    if (known >= 0) return known;
    return this.#append({ id: record.message ?? `message-${this.#messages.length + 1}`, role: 'assistant', status: 'streaming', parts: [] });
  }

  #append(message: Message): number {
    this.#current = this.#ownMessages().push(this.#draft.fresh(message)) - 1;
    this.#written.add(message.id);
    return this.#current;
  }

  #startMessage({ message: id, role, author }: Extract<Event, { type: 'message-started' }>): void {
    const at = this.#find(id);
    if (at < 0) {
      this.#append({ id, role, status: 'streaming', ...(author === undefined ? {} : { author }), parts: [] });
      return;
    }
    const message = this.#message(at);
    // The history may have had a part of the answer, which the replay tells from its beginning.
    if (this.#isReplaying && !this.#written.has(id)) {
      message.parts = [];
      this.#reindex();
    }
    message.status = 'streaming';
    this.#current = at;
    this.#written.add(id);
  }

  #push(record: NativeRecord, part: Part): Place {
    const at = this.#target(record);
    const message = this.#message(at);
    message.parts = this.#draft.own(message.parts);
    return [at, message.parts.push(this.#draft.fresh(part)) - 1];
  }

  #keepParts(keeps: (part: Part) => boolean): void {
    this.#messages.forEach((message, at) => {
      if (!message.parts.every(keeps)) this.#message(at).parts = message.parts.filter(keeps);
    });
    this.#reindex();
  }

  #reindex(): void {
    this.#places.clear();
    this.#lastBlock = undefined;
    this.#messages.forEach((message, at) => {
      message.parts.forEach((part, index) => {
        const place: Place = [at, index];
        if (part.type === 'tool') this.#places.set(`tool ${part.call}`, place);
        else if (part.type === 'data' && part.id !== undefined) this.#places.set(`data ${at} ${part.name} ${part.id}`, place);
        else if ((part.type === 'text' || part.type === 'reasoning') && part.state === 'streaming') {
          this.#places.set(`${part.type} ${at} ${part.id}`, place);
        }
      });
    });
  }

  /** A replay tells all that the run has said: what is there of it goes. */
  #forgetRun(): void {
    this.#messages = this.#messages.filter((message) => !this.#written.has(message.id));
    this.#written.clear();
    this.#run = begun(this.#run.started);
    this.#current = -1;
    this.#interrupts = [];
    this.#reindex();
  }

  #reconcile(snapshot: readonly Message[]): void {
    const current = this.#messages[this.#current]?.id;
    const has = (role: string) => snapshot.some((message) => message.role === role);
    const stays = (message: Message) =>
      snapshot.some(({ id }) => id === message.id) || ((message.role === 'reasoning' || message.role === 'activity') && !has(message.role));
    const kept = this.#messages.filter(stays).map((message) => snapshot.find(({ id }) => id === message.id) ?? message);
    this.#messages = [...kept, ...snapshot.filter(({ id }) => !kept.some((message) => message.id === id))];
    this.#current = current === undefined ? -1 : this.#find(current);
    this.#reindex();
  }

  // Blocks

  #blockKey(record: NativeRecord, kind: string, id: string): string {
    return `${kind} ${this.#target(record)} ${id}`;
  }

  #startBlock(record: NativeRecord, kind: 'text' | 'reasoning', id: string, metadata?: unknown) {
    const part = { type: kind, id, text: '', state: 'streaming' as const, ...(metadata === undefined ? {} : { metadata }), ...attemptOf(record) };
    const place = this.#push(record, part);
    const key = this.#blockKey(record, kind, id);
    this.#places.set(key, place);
    this.#lastBlock = { key, place };
    return part;
  }

  #block(record: NativeRecord, kind: string, id: string) {
    const key = this.#blockKey(record, kind, id);
    const place = this.#lastBlock?.key === key ? this.#lastBlock.place : this.#places.get(key);
    if (!place) return undefined;
    this.#lastBlock = { key, place };
    return this.#part(place) as Extract<Part, { type: 'text' | 'reasoning' }>;
  }

  // Tools, data, objects, questions

  #tool(record: NativeRecord, event: ToolEvent): void {
    let place: Place | undefined;
    if ('call' in event && event.call !== undefined) place = this.#places.get(`tool ${event.call}`);
    else place = this.#findPart((part) => part.type === 'tool' && part.approval?.id === (event as { approval?: string }).approval);
    if (!place) {
      if (event.type === 'approval-answered') return;
      const { call, name = '', dynamic } = event as { call: string; name?: string; dynamic?: boolean };
      const made: Part = {
        type: 'tool', call, name, state: 'input-streaming', executor: 'server', ...(dynamic === undefined ? {} : { dynamic }), ...attemptOf(record),
      };
      place = this.#push(record, made);
      this.#places.set(`tool ${call}`, place);
    }
    applyToolEvent(this.#part(place) as Extract<Part, { type: 'tool' }>, event);
  }

  #findPart(matches: (part: Part) => boolean): Place | undefined {
    for (let at = this.#messages.length - 1; at >= 0; at -= 1) {
      const index = (this.#messages[at] as Message).parts.findLastIndex(matches);
      if (index >= 0) return [at, index];
    }
    return undefined;
  }

  #putData(record: NativeRecord, event: Extract<Event, { type: 'data' }>): void {
    const key = event.id === undefined ? undefined : `data ${this.#target(record)} ${event.name} ${event.id}`;
    const known = key === undefined ? undefined : this.#places.get(key);
    if (known) {
      this.#part(known);
      this.#message(known[0]).parts[known[1]] = { ...event };
      return;
    }
    const place = this.#push(record, { ...event });
    if (key !== undefined) this.#places.set(key, place);
  }

  #putStructured(record: NativeRecord, event: Extract<Event, { type: 'structured' }>): void {
    const { streamId: stream, dataType } = event;
    const held = Object.hasOwn(this.#structured, stream) ? this.#structured[stream] : undefined;
    const { type: _, ...update } = event;
    const next = applyStructuredChunk(held, update, this.#draft.own);
    this.#structured = this.#draft.own(this.#structured);
    (this.#structured as Record<string, StructuredStreamState>)[stream] = next;
    const place = held && this.#findPart((part) => part.type === 'structured' && part.stream === stream);
    if (place) Object.assign(this.#part(place) as Part, { dataType, data: next.data });
    else this.#push(record, { type: 'structured', stream, dataType, data: next.data });
  }

  #ask(record: NativeRecord, { type: _, ...interrupt }: Extract<Event, { type: 'interrupt-requested' }>): void {
    this.#interrupts = [...this.#interrupts.filter(({ request }) => request !== interrupt.request), interrupt];
    const place = this.#findPart((part) => part.type === 'question' && part.interrupt.request === interrupt.request);
    if (!place) this.#push(record, { type: 'question', interrupt, state: 'open' });
    else Object.assign(this.#part(place) as Part, { interrupt, state: 'open', answer: undefined });
  }

  #closeQuestion(request: string, state: QuestionState, answer?: unknown): void {
    this.#interrupts = this.#interrupts.filter((open) => open.request !== request);
    const place = this.#findPart((part) => part.type === 'question' && part.interrupt.request === request);
    const part = place && (this.#part(place) as Extract<Part, { type: 'question' }>);
    if (!part) return;
    const { token: _, ...interrupt } = part.interrupt;
    Object.assign(part, { state, interrupt }, answer === undefined ? {} : { answer });
  }
}

/** What makes a run that waited continue. */
const CONTINUES: ReadonlySet<string> = new Set([
  'interrupt-answered', 'interrupt-expired', 'approval-answered', 'tool-output', 'tool-output-error', 'tool-denied', 'attempt-started', 'step-started',
]);

const begun = (started: RunStarted): RunInfo => ({ status: 'running', started, pendingToolCalls: [] });

const attemptOf = ({ attempt }: NativeRecord) => (attempt === undefined ? {} : { attempt });

/** Metadata is merged key by key, all the way down; everything else is replaced. */
function merge(held: unknown, next: unknown): unknown {
  if (next === null || next === undefined) return held;
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(held) || !isObject(next)) return next;
  const merged = { ...held };
  for (const [key, value] of Object.entries(next)) merged[key] = isObject(merged[key]) && isObject(value) ? merge(merged[key], value) : value;
  return merged;
}
