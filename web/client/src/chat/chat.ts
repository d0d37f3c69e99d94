import { asError, asUnexpected, HeadwaterError } from '../errors.js';
import type { Message, NativeRecord, StatusEvent } from '../native.js';
import { parseEvent, type StreamEvent } from '../read-stream.js';
import { RunReducer } from '../reduce.js';
import { followStream, type Connection } from './follow.js';
import { Http, type RequestOptions } from './http.js';
import { newId } from './id.js';
import { noneIf } from './outcome.js';
import type { MessagePage, QueuedMessage, Session, TurnSent, Variant, WaitingInterrupt } from './session-api.js';
import { openSession } from './storage.js';
import { SnapshotStore } from './store.js';
import type { ChatCallbacks, ChatOptions, ChatSnapshot, ChatStatus } from './types.js';
import { backoff, onWake, pause } from './wait.js';
import { waitingOf } from './waiting.js';

/** How long a change waits for the one that is about to follow it, in milliseconds. */
const SOON = 100;

/**
 * A conversation with an agent.
 *
 * @example
 * ```ts
 * const chat = createChat({ url: 'http://127.0.0.1:8787', agent: 'chat', storage: () => sessionStorage });
 * chat.subscribe(() => render(chat.getSnapshot()));
 * await chat.load();
 * await chat.send('Hello');
 * ```
 */
export function createChat(options: ChatOptions): Chat {
  return new Chat(options);
}

/**
 * One session: its messages, the run that is active, and what can be done with them.
 *
 * Every method that asks the server for something gives a promise that rejects with a `HeadwaterError`. Errors are in
 * the snapshot and reported to `onError` too, so an ignored promise is not an unhandled rejection.
 */
export class Chat {
  /** What the page shows. It changes at most once per `flushInterval`. */
  readonly getSnapshot: () => ChatSnapshot;
  /** Callbacks and tools may be replaced at any time. */
  options: ChatOptions;
  #http: Http;
  #id: string;
  #store: SnapshotStore<ChatSnapshot>;
  #reducer: RunReducer;
  #run: string | undefined;
  #status: ChatStatus = 'ready';
  #connection: Connection = 'closed';
  #queued: readonly QueuedMessage[] = [];
  #older: number | null = null;
  #activity: StatusEvent | undefined;
  #error: HeadwaterError | undefined;
  /** Ends the stream that is read. */
  #reading: AbortController | undefined;
  /** The page has left, and has asked for nothing since. */
  #isDetached = false;
  /** The calls of the page's tools that are executed or were. */
  #executed = new Set<string>();
  #loads = 0;
  #subscribers = 0;
  #unwatch: ((() => void) | undefined)[] = [];

  constructor(options: ChatOptions) {
    this.options = options;
    this.#http = new Http(() => this.options);
    this.#reducer = new RunReducer([], options);
    this.#id = openSession(options, (error) => this.#report(error));
    this.#store = new SnapshotStore(() => this.#read(), options.flushInterval);
    this.getSnapshot = this.#store.getSnapshot;
  }

  /** Calls the listener after each new snapshot. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const unsubscribe = this.#store.subscribe(listener);
    if (this.#subscribers++ === 0) this.#unwatch = [onWake(() => void this.sync()), this.options.watch?.(this, this.#store.subscribe)];
    return () => {
      unsubscribe();
      if (--this.#subscribers === 0) for (const stop of this.#unwatch) stop?.();
    };
  };

  /** Reads the conversation, and follows its run if one is active. Call it once when the page opens. */
  load(): Promise<void> {
    return this.#act(() => this.#load());
  }

  /** Looks whether another client has changed the session. It happens by itself when the page becomes visible. */
  sync(): Promise<void> {
    return this.#act(async () => {
      if (this.#reading) return;
      const session = await this.#find();
      // What failed before can be asked for again.
      if (this.#status !== 'error') this.#error = undefined;
      if (session && (session.activeRun || session.waitingRun || session.lastRun !== this.#run)) await this.#load();
    });
  }

  /** Reads the page of messages before the oldest one. */
  loadOlder(): Promise<void> {
    return this.#act(async () => {
      if (this.#older === null) return;
      const { messages, before } = await this.#page({ query: `before=${this.#older}` });
      this.#older = before;
      this.#reducer.edit((held) => [...messages, ...held]);
    });
  }

  /** Sends a message. While a run is active it waits in the queue, or stops the run, as the agent is set up. */
  send(text: string, { context }: { /** What the client says of itself. */ context?: Record<string, unknown> } = {}): Promise<void> {
    const local: Message = { id: newId(), role: 'user', status: 'sending', parts: [{ type: 'text', id: 'text', text, state: 'done' }] };
    const replace = (...messages: Message[]) => this.#reducer.edit((held) => [...held.filter(({ id }) => id !== local.id), ...messages]);
    return this.#act(async () => {
      replace(local);
      this.#error = undefined;
      if (!this.#reading) this.#status = 'submitted';
      this.#store.flush();
      const body = { input: text, session: this.#id, agent: this.options.agent, context };
      let sent: TurnSent;
      try {
        sent = await this.#post<TurnSent>(['runs'], body, local.id);
        if (typeof sent?.run !== 'string') throw asUnexpected();
      } catch (error) {
        replace({ ...local, status: 'error' });
        if (!this.#reading) this.#status = 'error';
        throw error;
      }
      // The id under which the server keeps the message, so that it is the same one after a reload.
      replace(...(sent.queued ? [] : [{ ...local, id: `msg_user_${sent.run}`, status: 'sent' as const }]));
      if (!sent.queued) this.#follow(sent.run);
      else if (this.#reading) await this.#loadQueue();
      else await this.#load();
    });
  }

  /** Stops the run. What it said so far is kept. */
  stop(): Promise<void> {
    return this.#change(() => this.#post(this.#run ? ['runs', this.#run, 'stop'] : this.#path('stop')));
  }

  /** Stops reading. The run continues, and `load` finds it again. */
  detach(): void {
    this.#leave();
    this.#isDetached = true;
    this.#status = 'ready';
    this.#store.flush();
  }

  /** Answers a question; without an answer, declines to. */
  answer(request: string, answer?: unknown): Promise<void> {
    return this.#change(() => this.#answer(answer === undefined ? { request, declined: true } : { request, answer }));
  }

  /** Allows or refuses a tool call. `input` changes the input of a tool that takes it. */
  approve(request: string, { approved = true, reason, input }: { approved?: boolean; reason?: string; input?: unknown } = {}): Promise<void> {
    return this.#change(() => this.#answer({ request, approved, reason, input }));
  }

  /** Gives the output of a tool that the page executes, or the error that it failed with. */
  addToolOutput(call: string, output: unknown, error?: string): Promise<void> {
    return this.#change(() => this.#giveOutput(call, output, error));
  }

  /** Answers a turn again; the last one, or that of a message or checkpoint. The old answer is kept as a variant. */
  regenerate(at?: string): Promise<void> {
    return this.#redo(at, 'regenerate');
  }

  /** Sends another text in place of a message of the person. */
  edit(at: string, text: string): Promise<void> {
    return this.#redo(at, 'edit', { text });
  }

  /** Goes back to the end of a turn: that of a message or checkpoint. Later turns are removed. */
  rollBack(at: string): Promise<void> {
    return this.#redo(at, 'rollback');
  }

  /** A new session that continues from the end of a turn. Open it with `createChat({ session: forked.id, … })`. */
  fork(at?: string, id?: string): Promise<Session> {
    return this.#act(() => this.#turn<Session>(at, 'fork', { id }));
  }

  /** The turns that were done in place of that of a message, in the order in which they were made; one if it was done once. */
  variants(at: string): Promise<Variant[]> {
    return this.#act(async () => (await this.#http.json<{ variants: Variant[] }>(this.#path('checkpoints', at, 'variants'))).variants);
  }

  /** Continues with another variant of a turn: the id of its checkpoint. */
  select(checkpoint: string): Promise<void> {
    return this.#redo(checkpoint, 'select');
  }

  /** The messages that wait behind the active run, each named by the run that will answer it. */
  readonly queue = {
    list: (): Promise<readonly QueuedMessage[]> => this.#act(() => this.#loadQueue()),
    edit: (run: string, text: string): Promise<void> => this.#change(() => this.#post(this.#path('queue', run, 'edit'), { text }), () => this.#loadQueue()),
    remove: (run: string): Promise<void> => this.#change(() => this.#http.json(this.#path('queue', run), { method: 'DELETE' }), () => this.#loadQueue()),
    /** Stops the active run and sends this message next. */
    sendNow: (run: string): Promise<void> => this.#change(() => this.#post(this.#path('queue', run, 'send')), () => this.#load()),
  };

  /** Everything that waits for this person, in all sessions. */
  listWaiting(): Promise<WaitingInterrupt[]> {
    return this.#act(async () => (await this.#http.json<{ interrupts: WaitingInterrupt[] }>(['interrupts'])).interrupts);
  }

  #read(): ChatSnapshot {
    const { run, ...state } = this.#reducer.snapshot();
    return {
      ...state,
      waiting: waitingOf(run, state.messages),
      usage: run.usage,
      session: this.#id,
      run: this.#run,
      status: this.#status,
      connection: this.#connection,
      queue: this.#queued,
      hasOlder: this.#older !== null,
      activity: this.#activity,
      error: this.#error,
    };
  }

  #path(...rest: string[]): string[] {
    return ['sessions', this.#id, ...rest];
  }

  #page(options?: RequestOptions): Promise<MessagePage> {
    return this.#http.json(this.#path('messages'), options);
  }

  /** The session, or `undefined` if nothing was sent to it yet. */
  #find(): Promise<Session | undefined> {
    return this.#http.json<Session>(this.#path()).catch(noneIf(/^session.unknown/));
  }

  async #load(): Promise<void> {
    const load = (this.#loads += 1);
    const session = await this.#find();
    if (!session) return;
    const page = await this.#page().catch(noneIf(/^run.unknown/));
    // A turn that is about to begin has no run yet.
    if (!page) return this.#soon();
    const { messages, before } = page;
    await this.#loadQueue();
    // One that began later has seen more.
    if (load !== this.#loads) return;
    this.#leave();
    this.#older = before;
    this.#reducer.reset(messages);
    this.#error = undefined;
    this.#status = 'ready';
    this.#run = session.lastRun ?? undefined;
    const active = session.activeRun ?? session.waitingRun;
    if (active) this.#follow(active, true);
    else if (this.#queued.length > 0) void this.#soon();
  }

  async #soon(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return this.load();
  }

  async #loadQueue(): Promise<readonly QueuedMessage[]> {
    const { queue } = await this.#http.json<{ queue: QueuedMessage[] }>(this.#path('queue'));
    return (this.#queued = queue);
  }

  #leave(): void {
    this.#loads += 1;
    this.#reading?.abort();
    this.#reading = undefined;
    this.#connection = 'closed';
    this.#activity = undefined;
  }

  /**
   * Reads a run in the background until it ends. Each record comes once: a cut connection continues after its cursor.
   * Of a run that is known already the current state comes first, otherwise the first record.
   */
  #follow(run: string, isKnown?: boolean): void {
    if (this.#isDetached) return;
    this.#leave();
    // What comes after this stream was left is not looked at.
    const { signal } = (this.#reading = new AbortController());
    this.#run = run;
    this.#status = 'submitted';
    let cursor: string | undefined;
    const request = () => ({
      headers: { 'last-event-id': cursor },
      // A waiting run continues when it is answered, perhaps in another tab.
      query: cursor || !isKnown ? 'until=end' : 'until=end&after=now',
    });
    const onEvent = (event: StreamEvent) => {
      const record = parseEvent<NativeRecord>(event, (value) => value.event.type);
      cursor = event.id ?? record.cursor ?? cursor;
      // Records that rebuild the state have no cursor: after a cut they are asked for again.
      isKnown ||= record.replay;
      if (!signal.aborted) this.#apply(record);
      return /^run-(finished|failed|cancelled)$/.test(record.event.type);
    };
    const onConnection = (connection: Connection) => {
      if (signal.aborted) return;
      this.#connection = connection;
      this.#store.changed(SOON);
    };
    void followStream(this.#http, ['runs', run, 'events'], request, signal, onEvent, onConnection, this.options)
      .catch(asError)
      .then((error) => signal.aborted || this.#ended(error || undefined));
  }

  #apply(record: NativeRecord): void {
    const { event } = record;
    try {
      this.#reducer.apply(record);
    } catch (error) {
      // One update that does not fit; the run continues.
      this.#report(asError(error, 'stream.invalid', 'the update does not fit'));
    }
    const isWaiting = event.type === 'run-waiting';
    this.#status = isWaiting ? 'ready' : 'streaming';
    if (isWaiting) this.#executeTools();
    if (event.type === 'status') this.#activity = event;
    this.#store.changed();
    this.#call('onChunk', record);
    if (event.type === 'data' && !record.replay) this.#call('onData', event);
  }

  /** The run has ended, or the connection to it. */
  #ended(error?: HeadwaterError): void {
    this.#leave();
    const { run, messages } = this.#reducer.snapshot();
    if (run.status === 'failed' && run.error) error = new HeadwaterError(run.error.code ?? 'run.failed', run.error.message, run.error);
    this.#status = error ? 'error' : 'ready';
    if (error) this.#report(error);
    this.#store.flush();
    this.#call('onFinish', {
      message: messages.findLast(({ role }) => role === 'assistant'),
      isAbort: run.status === 'cancelled',
      isDisconnect: error?.code === 'stream.lost',
      isError: !!error,
      finishReason: run.finishReason,
    });
    // The next message of the queue has its turn.
    if (this.#queued.length > 0) void this.sync();
  }

  /** Does something that may fail: the failure is shown, reported and given to the caller. */
  #act<T>(action: () => Promise<T>): Promise<T> {
    this.#isDetached = false;
    const done = action()
      .catch((error: unknown) => {
        // Anything else comes of a response whose fields are not those of the server.
        throw this.#report(asUnexpected(error));
      })
      // A run that is followed has something to show at once: that is one change, not two.
      .finally(() => this.#store.flush(this.#connection === 'connecting' ? SOON : 0));
    // Callers that await it still get the rejection.
    done.catch(() => {});
    return done;
  }

  #change(request: () => Promise<unknown>, reload?: () => Promise<unknown>): Promise<void> {
    return this.#act(async () => {
      await request();
      await reload?.();
    });
  }

  /** Does something in place of a turn, and reads what there is then. */
  #redo(at: string | undefined, action: string, body?: unknown): Promise<void> {
    return this.#change(() => this.#turn(at, action, body), () => this.#load());
  }

  /**
   * Sends what counts once, however often it is sent: again if the network lost it, or if the server asks for that within a
   * minute. Meanwhile the snapshot has the error, with its time.
   */
  async #post<T>(path: string[], body: unknown = {}, key = newId()): Promise<T> {
    const { retryDelay = backoff } = this.options;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#http.json<T>(path, { body, headers: { 'idempotency-key': key } });
      } catch (thrown) {
        const error = asError(thrown);
        const wait = error.retryAfter ?? (error.code === 'network' ? retryDelay(attempt) : 6e4);
        if (attempt > 3 || wait >= 6e4) throw error;
        this.#error = error;
        this.#store.flush();
        await pause(wait, AbortSignal.timeout(6e4));
        this.#error = undefined;
      }
    }
  }

  /** Does something with the turn of a message or checkpoint. */
  #turn<T>(at = 'latest', action: string, body?: unknown): Promise<T> {
    return this.#post(this.#path('checkpoints', at, action), body);
  }

  async #answer(body: unknown): Promise<void> {
    const run = this.#run ?? '';
    await this.#post(['runs', run, 'answer'], body);
    if (!this.#reading) this.#follow(run, true);
  }

  async #giveOutput(call: string, output: unknown, error?: string): Promise<void> {
    this.#executed.add(call);
    // The stream names the call, the answer the request.
    const { waitsFor } = await this.#http.json<{ waitsFor: WaitingInterrupt[] }>(['runs', this.#run ?? '']);
    const request = waitsFor.find(({ tool }) => tool?.call === call)?.request;
    if (!request) throw new HeadwaterError('request.unknown', `unknown call: ${call}`);
    await this.#answer({ request, ...(error ? { error } : { output: output ?? null }) });
  }

  #executeTools(): void {
    const { tools = {}, onToolCall } = this.options;
    const { run, messages } = this.#reducer.snapshot();
    for (const waiting of waitingOf(run, messages)) {
      if (waiting.kind !== 'client-tool' || this.#executed.has(waiting.call)) continue;
      const { call, name, input } = waiting;
      const execute = Object.hasOwn(tools, name) ? tools[name] : onToolCall && (() => onToolCall(waiting));
      if (!execute) continue;
      this.#executed.add(call);
      void this.#change(async () => {
        let output: unknown;
        let problem: string | undefined;
        try {
          output = await execute(input as never, waiting);
        } catch (error) {
          problem = String((error as Error | undefined)?.message ?? error);
        }
        // Another tab may have been faster.
        if (output !== undefined || problem) await this.#giveOutput(call, output, problem).catch(noneIf(/^request|ended$/));
      });
    }
  }

  #report(error: HeadwaterError): HeadwaterError {
    this.#error = error;
    this.#call('onError', error);
    return error;
  }

  /** An error in a page's callback must not end the stream. */
  #call<K extends keyof ChatCallbacks>(name: K, argument: Parameters<NonNullable<ChatCallbacks[K]>>[0]): void {
    try {
      (this.options[name] as ((given: typeof argument) => void) | undefined)?.(argument);
    } catch (error) {
      console.error(error);
    }
  }
}
