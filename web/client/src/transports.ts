/**
 * Reconnection for the hooks of others: the AI SDK, AG-UI and TanStack AI. Their clients do not continue a stream that
 * was cut, or begin it again; with these they do not notice. Nothing of theirs is imported: they are handed in.
 *
 * @packageDocumentation
 */
import type { UIMessageChunk } from './ai-sdk.js';
import { watchForStall, type StallWatch } from './chat/stall.js';
import { backoff, pause } from './chat/wait.js';
import { asError, errorOf, HeadwaterError, recoverable } from './errors.js';
import { parseEvent, readEvents } from './read-stream.js';
import { ReplayFilter } from './transports/replay-filter.js';
import { resumableFetch, type ResumableFetchOptions } from './transports/resumable-fetch.js';
import { eventsUrl } from './transports/run-url.js';
import { toStream } from './transports/to-stream.js';

export { resumableFetch, type ResumableFetchOptions };

export interface ChatTransportOptions extends ResumableFetchOptions {
  /** Where the dialect is served: `https://example.com/v1/ai-sdk/chat`, with `?agent=` for one of several. */
  api: string;
  headers?: HeadersInit | (() => HeadersInit | Promise<HeadersInit>) | undefined;
  /** What goes with every request. */
  body?: Record<string, unknown> | undefined;
}

/** What a hook of the AI SDK asks its transport for. */
export interface TransportRequest {
  chatId: string;
  headers?: Record<string, string> | Headers | undefined;
  body?: object | undefined;
  abortSignal?: AbortSignal | undefined;
}

/**
 * The shape of the AI SDK's `ChatTransport`, for every version and type of message: chunks have the type that the hook
 * gives them.
 */
export interface ChatTransport {
  /** A reconnected stream has the whole answer from its beginning. */
  readonly resumeStreamIsReplay: true;
  sendMessages<Chunk = UIMessageChunk>(
    request: TransportRequest & {
      messages: readonly object[];
      trigger: 'submit-message' | 'regenerate-message';
      messageId?: string | undefined;
    },
  ): Promise<ReadableStream<Chunk>>;
  /** The answer that is being written, or `null`. */
  reconnectToStream<Chunk = UIMessageChunk>(request: TransportRequest): Promise<ReadableStream<Chunk> | null>;
}

/** A response that is read, and what leaves it when it goes silent. */
interface WatchedResponse {
  response: Response;
  stall: StallWatch;
}

/**
 * A `ChatTransport` of the AI SDK. A stream that is cut or goes silent continues where it was; after a reload `resume`
 * finds the run.
 *
 * @example
 * ```ts
 * const { messages, sendMessage } = useChat({ id, transport: createChatTransport({ api: '/v1/ai-sdk/chat' }), resume: true });
 * ```
 */
export function createChatTransport({ api, headers, body, fetch = globalThis.fetch, maxRetries = 10, retryDelay = backoff, stallTimeout }: ChatTransportOptions): ChatTransport {
  const ask = async (url: string, init: RequestInit, request: TransportRequest, signal: AbortSignal): Promise<WatchedResponse> => {
    const stall = watchForStall(signal, stallTimeout);
    try {
      const all = new Headers(typeof headers === 'function' ? await headers() : headers);
      new Headers(request.headers).forEach((value, key) => all.set(key, value));
      if (init.body) all.set('content-type', 'application/json');
      const response = await fetch(url, { ...init, headers: all, signal: stall.signal });
      if (!response.ok) throw await errorOf(response);
      return { response, stall };
    } catch (error) {
      stall.stop();
      throw error;
    }
  };

  const resumeUrl = ({ chatId }: TransportRequest): string => {
    const [path, query] = api.split('?');
    return `${path}/${encodeURIComponent(chatId)}/stream${query ? `?${query}` : ''}`;
  };

  /** The chunks of an answer, over as many connections as it takes. The wire has no cursor: a cut stream is sent again. */
  async function* read(first: WatchedResponse, request: TransportRequest, signal: AbortSignal): AsyncGenerator<UIMessageChunk, void, undefined> {
    // Once the run has ended, only its own events have the rest of it.
    const events = eventsUrl(api, first.response.headers.get('x-run-id'));
    const again = events ? `${events}&after=now` : resumeUrl(request);
    const filter = new ReplayFilter(/[?&]profile=ai-7\b/.test(api));
    let failures = 0;
    for (let current: WatchedResponse | undefined = first; ; current = undefined) {
      let failure: HeadwaterError | undefined;
      try {
        current ??= await ask(again, {}, request, signal);
        // The run has ended, and nothing follows.
        if (current.response.status === 204) return;
        for await (const event of readEvents(current.response, { ...current.stall, keepTail: false })) {
          if (event.data === '[DONE]') continue;
          const chunk = parseEvent<UIMessageChunk>(event, ({ type }) => type);
          const fresh = filter.pass(chunk);
          if (fresh.length > 0) failures = 0;
          yield* fresh;
          if (chunk.type === 'finish' || chunk.type === 'abort') return;
        }
      } catch (error) {
        signal.throwIfAborted();
        failure = asError(error);
        if (!failure.retryable) throw error;
      } finally {
        current?.stall.stop();
      }
      failures += 1;
      if (failures > maxRetries) throw recoverable('stream.lost', 'the connection was lost');
      await pause(failure?.retryAfter ?? retryDelay(failures), signal);
      filter.restart();
    }
  }

  /** What a hook reads. Its chunks are those of its own version. */
  const open = async <Chunk>(url: string, init: RequestInit, request: TransportRequest): Promise<ReadableStream<Chunk> | null> => {
    const leave = new AbortController();
    const signal = request.abortSignal ? AbortSignal.any([leave.signal, request.abortSignal]) : leave.signal;
    const first = await ask(url, init, request, signal);
    if (first.response.status !== 204) return toStream(read(first, request, signal), leave) as unknown as ReadableStream<Chunk>;
    first.stall.stop();
    return null;
  };

  return {
    resumeStreamIsReplay: true,

    async sendMessages<Chunk>(request: Parameters<ChatTransport['sendMessages']>[0]) {
      const { chatId: id, messages, trigger, messageId } = request;
      const sent = JSON.stringify({ ...body, ...request.body, id, messages, trigger, messageId });
      return (await open<Chunk>(api, { method: 'POST', body: sent }, request)) as ReadableStream<Chunk>;
    },

    reconnectToStream: (request) => open(resumeUrl(request), {}, request),
  };
}

/** The parts of `@ag-ui/client` that `withConnect` needs. */
export interface AgUiClient {
  HttpAgent: new (...config: never[]) => object;
  runHttpRequest: (...request: never[]) => unknown;
  transformHttpEventStream: (...source: never[]) => unknown;
}

/** An `HttpAgent` as far as `withConnect` uses it. */
interface AgentBase {
  url: string;
  fetch: typeof globalThis.fetch;
  abortController: AbortController;
  requestInit(input: unknown): RequestInit;
}

/**
 * `HttpAgent` of `@ag-ui/client` with `connect()`, which its own class does not have: it reads the thread and continues
 * its run after a reload. A stream that is cut or goes silent continues where it was. Give it the whole package.
 *
 * @example
 * ```ts
 * import * as agUi from '@ag-ui/client';
 * const HeadwaterAgent = withConnect(agUi);
 * const agent = new HeadwaterAgent({ url: 'https://example.com/v1/ag-ui/agent/chat/run', threadId });
 * await agent.connectAgent();
 * ```
 */
export function withConnect<Client extends AgUiClient>(client: Client, options: ResumableFetchOptions = {}): Client['HttpAgent'] {
  // The type of the class that is extended is known to the caller alone.
  const Base = client.HttpAgent as unknown as new (config: never) => AgentBase;
  const { runHttpRequest, transformHttpEventStream } = client as unknown as {
    runHttpRequest: (request: () => Promise<Response>) => unknown;
    transformHttpEventStream: (source: unknown) => unknown;
  };
  class HeadwaterAgent extends Base {
    constructor(config: never) {
      super(config);
      this.fetch = resumableFetch({ fetch: this.fetch, ...options });
    }

    connect(input: unknown): unknown {
      const url = this.url
        .replace(/(\/ag-ui)\/([^/]+)\/chat(?=$|\?)/, '$1/agent/$2/connect')
        .replace(/(\/agent\/[^/]+)\/run(?=$|\?)/, '$1/connect');
      if (url === this.url) throw new HeadwaterError('url.unknown', `connect() needs a URL that ends with /ag-ui/<name>/chat or /agent/<name>/run: ${url}`);
      // `runAgent` makes a new one each time; an agent that was stopped connects again.
      this.abortController = new AbortController();
      return transformHttpEventStream(runHttpRequest(() => this.fetch(url, this.requestInit(input))));
    }
  }
  return HeadwaterAgent as unknown as Client['HttpAgent'];
}

/**
 * A connection of TanStack AI whose stream continues after a cut. `fetchServerSentEvents` is that of `@tanstack/ai-client`
 * or `@tanstack/ai-react`.
 *
 * @example
 * ```ts
 * const chat = useChat({ threadId, connection: createConnection(fetchServerSentEvents, '/v1/ag-ui/chat?profile=tanstack') });
 * ```
 */
export function createConnection<Connection, Options extends object>(
  fetchServerSentEvents: (url: string, options: Options & { fetchClient: typeof globalThis.fetch }) => Connection,
  url: string,
  { reconnect, ...options }: Partial<Options> & { /** How to reconnect. */ reconnect?: ResumableFetchOptions } = {},
): Connection {
  return fetchServerSentEvents(url, { ...(options as unknown as Options), fetchClient: resumableFetch(reconnect) });
}
