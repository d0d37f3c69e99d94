import { applyEvent, readStream, type StreamEvent } from './agents.js';
import type { UIMessage } from './ai-sdk.js';
import { newId } from './chat/id.js';
import { SnapshotStore } from './chat/store.js';
import { watchForStall } from './chat/stall.js';
import { backoff, pause } from './chat/wait.js';
import { asError, errorOf, HeadwaterError, recoverable } from './errors.js';

export interface ChatStreamOptions {
  /** The endpoint: `/api/chat`. */
  api: string;
  initialMessages?: UIMessage[] | undefined;
  /** What goes with the messages in every request: `{ projectId, sessionId, toolChoice }`. */
  body?: Record<string, unknown> | undefined;
  headers?: HeadersInit | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  /** The shortest time between two snapshots, in milliseconds: 16. */
  flushInterval?: number | undefined;
  /** How often a cut stream is asked for again without anything new in between: 5 times. */
  maxRetries?: number | undefined;
  retryDelay?: ((attempt: number) => number) | undefined;
  /** How long a stream may be silent, in milliseconds: 45 seconds. A server without heartbeats may need more. */
  stallTimeout?: number | undefined;
  /** Every event, `meta` and `status` too. */
  onEvent?: ((event: StreamEvent) => void) | undefined;
}

export interface ChatStreamSnapshot {
  messages: UIMessage[];
  status: 'ready' | 'submitted' | 'streaming' | 'error';
  error: HeadwaterError | undefined;
}

/** A chat over the agents contract, for pages that keep their own messages. `useChatStream` is this as a hook. */
export class ChatStream {
  readonly getSnapshot: () => ChatStreamSnapshot;
  readonly subscribe: (listener: () => void) => () => void;
  options: ChatStreamOptions;
  #store: SnapshotStore<ChatStreamSnapshot>;
  #messages: UIMessage[];
  #status: ChatStreamSnapshot['status'] = 'ready';
  #error: HeadwaterError | undefined;
  #reading: AbortController | undefined;

  constructor(options: ChatStreamOptions) {
    this.options = options;
    this.#messages = options.initialMessages ?? [];
    this.#store = new SnapshotStore(() => ({ messages: this.#messages, status: this.#status, error: this.#error }), options.flushInterval);
    this.getSnapshot = this.#store.getSnapshot;
    this.subscribe = this.#store.subscribe;
  }

  /** Replaces the messages. */
  readonly setMessages = (messages: UIMessage[] | ((messages: UIMessage[]) => UIMessage[])): void => {
    this.#messages = typeof messages === 'function' ? messages(this.#messages) : messages;
    this.#store.flush();
  };

  /** Sends a message, and reads the answer to its end. Errors are in the snapshot; the promise never rejects. */
  readonly sendMessage = async (message: string | UIMessage, body: Record<string, unknown> = {}): Promise<void> => {
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    const sent: UIMessage = typeof message === 'string' ? { id: newId(), role: 'user', parts: [{ type: 'text', text: message }] } : message;
    const known = this.#messages.findIndex(({ id }) => id === sent.id);
    this.#messages = known < 0 ? [...this.#messages, sent] : this.#messages.with(known, sent);
    this.#set('submitted');
    try {
      await this.#read({ ...this.options.body, ...body, messages: this.#messages }, reading.signal);
      if (this.#reading === reading) this.#set(this.#error ? 'error' : 'ready', this.#error);
    } catch (error) {
      if (this.#reading === reading) this.#set('error', asError(error));
    } finally {
      if (this.#reading === reading) this.#reading = undefined;
    }
  };

  /** Stops reading. The run continues: `POST …/{run}/stop` stops it. */
  readonly abort = (): void => {
    if (!this.#reading) return;
    this.#reading.abort();
    this.#reading = undefined;
    this.#set('ready');
  };

  #set(status: ChatStreamSnapshot['status'], error?: HeadwaterError): void {
    this.#status = status;
    this.#error = error;
    this.#store.flush();
  }

  /** Reads an answer over as many connections as it takes: the same request with a cursor returns to the run. */
  async #read(body: unknown, signal: AbortSignal): Promise<void> {
    const { api, headers, fetch = globalThis.fetch, maxRetries = 5, retryDelay = backoff, stallTimeout } = this.options;
    const key = newId();
    let cursor: string | undefined;
    for (let failures = 0; ; ) {
      let failure = recoverable('stream.cut', 'the stream ended early');
      const stall = watchForStall(signal, stallTimeout);
      try {
        const all = new Headers(headers);
        all.set('content-type', 'application/json');
        all.set('idempotency-key', key);
        if (cursor) all.set('last-event-id', cursor);
        const response = await fetch(api, { method: 'POST', headers: all, body: JSON.stringify(body), signal: stall.signal });
        if (!response.ok) throw await errorOf(response);
        for await (const event of readStream(response, stall)) {
          cursor = event.id ?? cursor;
          failures = 0;
          if (this.#apply(event)) return;
        }
      } catch (error) {
        signal.throwIfAborted();
        failure = asError(error);
        if (!failure.retryable) throw failure;
      } finally {
        stall.stop();
      }
      // Without a cursor the answer would be sent, and shown, again from its beginning.
      if (++failures > maxRetries || (this.#status === 'streaming' && !cursor)) throw failure;
      await pause(failure.retryAfter ?? retryDelay(failures), signal);
    }
  }

  /** Applies an event; true if it ends the stream. */
  #apply(event: StreamEvent): boolean {
    this.options.onEvent?.(event);
    this.#messages = applyEvent(this.#messages, event);
    this.#status = 'streaming';
    this.#store.changed();
    if (event.type !== 'error') return event.type === 'done';
    const { code = 'run.failed', message = code, retryable = false, terminal } = event.data as { message?: string; code?: string; retryable?: boolean; terminal?: boolean };
    this.#error = new HeadwaterError(code, message, { retryable });
    return !!terminal;
  }
}
