import { assign, merge } from './assign.js';
import { Draft } from './draft.js';
import type {
  AttemptId, ErrorInfo, Event, Interrupt, Message, MessageStatus, NativeRecord, Part, QuestionState, RunStarted, Usage,
} from './native.js';
import { applyToolEvent, isSettled, type ToolEvent } from './reduce-tool.js';
import { writeStructured, type StructuredStreamState } from './structured-write.js';

/** The state of a run. */
export interface RunInfo {
  status: 'running' | 'waiting' | 'finished' | 'failed' | 'cancelled';
  started: RunStarted;
  finishReason?: string;
  usage?: Usage;
  /** The result of the run. */
  data?: unknown;
  error?: ErrorInfo;
  /** The calls whose outputs the page owes. */
  pendingToolCalls?: readonly string[];
}

/** The state that the records of a run build. Every part of it is immutable; what did not change keeps its identity. */
export interface RunState {
  run: RunInfo;
  messages: readonly Message[];
  /** The structured objects by stream. A part of type `structured` has the object too. */
  structured: Readonly<Record<string, StructuredStreamState>>;
  /** The state that is shared with the page. */
  shared: unknown;
}

export interface ReducerOptions {
  /** Applies the patches of shared state: `applyPatch` of this package. Agents that share no state need none. */
  applyPatch?: ((document: unknown, patch: readonly unknown[]) => unknown) | undefined;
}

type PartOf<T extends Part['type']> = Extract<Part, { type: T }>;

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
  #run: RunInfo = { status: 'running', started: {} };
  #messages: readonly Message[];
  /** The message that records without a message belong to. */
  #current: string | undefined;
  #structured: Readonly<Record<string, StructuredStreamState>> = {};
  #shared: unknown;
  /** The messages that the current run has written to. */
  #written = new Set<string>();
  #isReplaying: boolean | undefined;
  /** The text of the current message that the last delta continued, until a snapshot or another event: most deltas continue it. */
  #open: PartOf<'text'> | undefined;
  #options: ReducerOptions;

  /** Begins with the messages that the conversation already has. */
  constructor(messages: readonly Message[] = [], options: ReducerOptions = {}) {
    this.#messages = messages;
    this.#options = options;
  }

  /** The state so far. It is never changed afterwards. */
  snapshot(): RunState {
    this.#draft.seal();
    this.#open = undefined;
    return { run: this.#run, messages: this.#messages, structured: this.#structured, shared: this.#shared };
  }

  /** Changes the conversation. A message that is equal to the one with its id keeps the identity of that. */
  edit(change: (messages: readonly Message[]) => readonly Message[]): void {
    this.#open = undefined;
    const known = new Map(this.#messages.map((message) => [message.id, message]));
    this.#messages = change(this.#messages).map((message) => {
      const held = known.get(message.id);
      return held && held !== message && JSON.stringify(held) === JSON.stringify(message) ? held : message;
    });
  }

  /** Begins anew with other messages. */
  reset(messages: readonly Message[]): void {
    this.edit(() => messages);
    this.#written.clear();
    this.#forgetRun();
  }

  /**
   * Applies one record.
   *
   * @throws if a structured update or a state change does not fit what is there. Nothing has changed then, and later
   * records can be applied.
   */
  apply(record: NativeRecord): void {
    const { event, replay } = record;
    const open = this.#open;
    if (open && event.type === 'block-delta' && event.id === open.id && event.kind === open.type && record.message === this.#current && !event.metadata && replay === this.#isReplaying) {
      open.text += event.delta;
      return;
    }
    this.#open = undefined;
    // A replay that was cut begins again.
    if (replay && (!this.#isReplaying || event.type === 'run-started')) this.#forgetRun();
    this.#isReplaying = replay;
    const { status } = this.#run;
    if (status !== 'running' && status !== 'waiting' && event.type !== 'run-started') return;
    if (status === 'waiting' && CONTINUES.test(event.type)) this.#update({ status: 'running', pendingToolCalls: undefined });
    this.#apply(record, event);
  }

  #apply(record: NativeRecord, event: Event): void {
    switch (event.type) {
      case 'block-started':
      case 'block-delta':
      case 'block-ended': {
        const { kind, id, metadata } = event;
        const isOpen = (part: Part) => part.type === kind && part.id === id && part.state === 'streaming';
        const open = event.type === 'block-started' ? undefined : (this.#find(isOpen, record) as PartOf<'text'> | undefined);
        if (!open && event.type === 'block-ended') break;
        const part = open ?? this.#push(record, { type: kind, id, text: '', state: 'streaming' } as PartOf<'text'>);
        if (event.type === 'block-delta') {
          part.text += event.delta;
          if (record.message === this.#current) this.#open = part;
        }
        if (event.type === 'block-ended') part.state = 'done';
        if (metadata !== undefined) part.metadata = metadata;
        break;
      }
      case 'run-started': {
        const { type: _, ...started } = event;
        // What another run left open is not continued.
        this.#end('cancelled', 'cancelled');
        this.#run = { status: 'running', started };
        if (!record.replay) this.#written.clear();
        break;
      }
      case 'run-finished':
        this.#end('finished', 'sent', { finishReason: event.reason, usage: event.usage ?? this.#run.usage, data: event.data });
        break;
      case 'run-failed':
      case 'error': {
        const { type, terminal, ...error } = event as Event & { type: 'error' };
        if (terminal || (type as string) === 'run-failed') this.#end('failed', 'error', { error });
        else this.#update({ error });
        break;
      }
      case 'run-cancelled':
        this.#end('cancelled', 'cancelled');
        break;
      case 'run-waiting':
        this.#end('waiting', 'sent', { usage: event.usage ?? this.#run.usage, pendingToolCalls: event.toolCalls });
        break;
      case 'usage': {
        const { type: _, ...usage } = event;
        this.#update({ usage });
        break;
      }
      case 'attempt-retracted':
        this.#keepParts((part) => (part.type === 'tool' && isSettled(part.state)) || (part as { attempt?: AttemptId }).attempt !== event.attempt);
        break;
      case 'message-started':
        this.#startMessage(event);
        break;
      case 'message-finished': {
        const at = this.#placeOf(event.message);
        if (this.#messages[at]?.status === 'streaming') this.#message(at).status = 'sent';
        break;
      }
      case 'message-metadata': {
        const message = this.#message(this.#target(record));
        message.metadata = merge(message.metadata, event.metadata ?? message.metadata);
        break;
      }
      case 'message':
        this.#push(record, { type: 'text', id: 'message', text: event.content, state: 'done' });
        break;
      case 'step-started':
        this.#push(record, { type: 'step-start' });
        break;
      case 'source-url':
      case 'source-document':
      case 'file':
        this.#push(record, { ...event } as Part);
        break;
      case 'data': {
        const { name, id } = event;
        if (event.transient) break;
        const known = id === undefined ? undefined : this.#find((part) => part.type === 'data' && part.name === name && part.id === id, record);
        if (known) assign(known as PartOf<'data'>, event);
        else this.#push(record, { ...event });
        break;
      }
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
        if (this.#options.applyPatch) this.#shared = this.#options.applyPatch(this.#shared ?? null, event.patch);
        break;
      case 'messages-snapshot':
        this.edit(() => event.messages);
        break;
      case 'interrupt-requested': {
        const { type: _, ...interrupt } = event;
        this.#question(record, event.request, 'open', { interrupt });
        break;
      }
      case 'interrupt-answered':
      case 'interrupt-expired':
        this.#question(record, event.request, event.type.slice('interrupt-'.length) as QuestionState, event as { answer?: unknown });
        break;
      default:
        // A reader passes over events that it does not know.
        if (/^(tool-(input|output|denied)|approval-)/.test(event.type)) this.#tool(record, event as ToolEvent);
    }
  }

  #update(fields: { [K in keyof RunInfo]?: RunInfo[K] | undefined }): void {
    this.#run = assign({ ...this.#run }, fields);
  }

  #end(status: RunInfo['status'], open: MessageStatus, fields: { [K in keyof RunInfo]?: RunInfo[K] | undefined } = {}): void {
    this.#update({ pendingToolCalls: undefined, ...fields, status });
    this.#messages.forEach((message, at) => {
      if (message.status === 'streaming') this.#message(at).status = open;
    });
  }

  /** The state of the run is dropped: its events are sent again from the beginning. */
  #forgetRun(): void {
    this.#messages = this.#messages.filter(({ id }) => !this.#written.has(id));
    this.#written.clear();
    this.#run = { status: 'running', started: this.#run.started };
    this.#structured = {};
  }

  // Messages

  /** A message, to be changed. */
  #message(at: number): Message {
    const messages = (this.#messages = this.#draft.own(this.#messages as Message[])) as Message[];
    return (messages[at] = this.#draft.own(messages[at] as Message));
  }

  #placeOf(id: string | undefined): number {
    return this.#messages.findLastIndex((message) => message.id === id);
  }

  /** The place of the message that a record belongs to, which is begun here if need be. */
  #target({ message: id = this.#current }: NativeRecord): number {
    const at = this.#placeOf(id);
    return at < 0 ? this.#begin(id ?? `message-${this.#messages.length + 1}`, 'assistant') : at;
  }

  #begin(id: string, role: Message['role'], author?: Message['author']): number {
    this.#current = id;
    this.#written.add(id);
    this.#messages = [...this.#messages, assign<Message>({ id, role, status: 'streaming', parts: [] }, { author })];
    return this.#messages.length - 1;
  }

  #startMessage({ message: id, role, author }: Extract<Event, { type: 'message-started' }>): void {
    const at = this.#placeOf(id);
    if (at < 0) {
      this.#begin(id, role, author);
      return;
    }
    const message = this.#message(at);
    // The history may have a part of the answer, which the replay sends from its beginning.
    if (this.#isReplaying && !this.#written.has(id)) message.parts = [];
    message.status = 'streaming';
    this.#current = id;
    this.#written.add(id);
  }

  // Parts

  #push<P extends Part>(record: NativeRecord, part: P): P {
    const message = this.#message(this.#target(record));
    message.parts = this.#draft.own(message.parts);
    // What an attempt wrote can be retracted; an object or a question cannot.
    if (record.attempt && /^(text|reasoning|tool|source|file)/.test(part.type)) Object.assign(part, { attempt: record.attempt });
    message.parts.push(part);
    return part;
  }

  /** The newest part that matches, to be changed: of the record's message, or else of all. */
  #find(matches: (part: Part) => boolean, record?: NativeRecord): Part | undefined {
    const only = record && this.#target(record);
    for (let at = only ?? this.#messages.length - 1; at >= (only ?? 0); at -= 1) {
      const index = (this.#messages[at] as Message).parts.findLastIndex(matches);
      if (index < 0) continue;
      const message = this.#message(at);
      const parts = (message.parts = this.#draft.own(message.parts));
      return (parts[index] = this.#draft.own(parts[index] as Part));
    }
    return undefined;
  }

  #keepParts(keeps: (part: Part) => boolean): void {
    this.#messages.forEach(({ parts }, at) => {
      if (!parts.every(keeps)) this.#message(at).parts = parts.filter(keeps);
    });
  }

  #tool(record: NativeRecord, event: ToolEvent): void {
    const { call, name = '', dynamic, approval } = event as { call?: string; name?: string; dynamic?: boolean; approval?: string };
    const found = this.#find((part) => part.type === 'tool' && (call === undefined ? part.approval?.id === approval : part.call === call));
    if (!found && call === undefined) return;
    const made = () => assign({ type: 'tool', call: call as string, name, state: 'input-streaming', executor: 'server' } as PartOf<'tool'>, { dynamic });
    applyToolEvent((found ?? this.#push(record, made())) as PartOf<'tool'>, event);
  }

  #putStructured(record: NativeRecord, { type: _, ...update }: Extract<Event, { type: 'structured' }>): void {
    const { streamId: stream, dataType } = update;
    const held = Object.hasOwn(this.#structured, stream) ? this.#structured[stream] : undefined;
    const next = writeStructured(held, update, this.#draft.own, misfit);
    this.#structured = { ...this.#structured, [stream]: next };
    const part = held && this.#find((known) => known.type === 'structured' && known.stream === stream);
    assign((part ?? this.#push(record, { type: 'structured', stream, dataType })) as PartOf<'structured'>, { dataType, data: next.data });
  }

  /** A question is put, or settled: then what allowed to answer it is of no more use. */
  #question(record: NativeRecord, request: string, state: QuestionState, { interrupt, answer }: { interrupt?: Interrupt; answer?: unknown }): void {
    let part = this.#find((known) => known.type === 'question' && known.interrupt.request === request) as PartOf<'question'> | undefined;
    if (!part && interrupt) part = this.#push(record, { type: 'question', interrupt, state });
    if (part) assign(part, { state, answer, interrupt: interrupt ?? assign({ ...part.interrupt }, { token: undefined }) });
  }
}

/** What makes a run that waited continue. */
const CONTINUES = /-(answered|expired)$|^tool-(output|denied)|^(attempt|step)-started/;

/** The server has checked the updates: one that does not fit is out of place here. */
const misfit = () => new Error('the update does not fit');
