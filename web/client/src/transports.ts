/**
 * Reconnection for the hooks of others: the AI SDK, AG-UI and TanStack AI. Their clients do not continue a stream that
 * was cut, or begin it again; with these they do not notice. Nothing of theirs is imported: they are handed in.
 *
 * @packageDocumentation
 */
import type { UIMessage, UIMessageChunk } from './ai-sdk.js';
import { readStream } from './ai-sdk.js';
import { backoff, pause } from './chat/wait.js';
import { errorOf, HeadwaterError } from './errors.js';
import { ReplayFilter } from './transports/replay-filter.js';
import { resumableFetch, type ResumableFetchOptions } from './transports/resumable-fetch.js';

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
}

/** The shape of the AI SDK's `ChatTransport`. */
export interface ChatTransport {
  sendMessages(
    request: TransportRequest & {
      messages: UIMessage[];
      trigger: 'submit-message' | 'regenerate-message';
      messageId?: string | undefined;
      abortSignal?: AbortSignal | undefined;
    },
  ): Promise<ReadableStream<UIMessageChunk>>;
  /** The answer that is being written, or `null`. */
  reconnectToStream(request: TransportRequest): Promise<ReadableStream<UIMessageChunk> | null>;
}

/**
 * A `ChatTransport` of the AI SDK. A stream that is cut continues where it was; after a reload `resume` finds the run.
 *
 * @example
 * ```ts
 * const { messages, sendMessage } = useChat({ id, transport: createChatTransport({ api: '/v1/ai-sdk/chat' }), resume: true });
 * ```
 */
export function createChatTransport({ api, headers, body, fetch = globalThis.fetch, maxRetries = 10, retryDelay = backoff }: ChatTransportOptions): ChatTransport {
  const ask = async (url: string, init: RequestInit, request: TransportRequest): Promise<Response> => {
    const all = new Headers(typeof headers === 'function' ? await headers() : headers);
    new Headers(request.headers).forEach((value, key) => all.set(key, value));
    if (init.body) all.set('content-type', 'application/json');
    const response = await fetch(url, { ...init, headers: all });
    if (!response.ok) throw await errorOf(response);
    return response;
  };

  const resume = (request: TransportRequest, signal: AbortSignal) => {
    const [path, query] = api.split('?');
    return ask(`${path}/${encodeURIComponent(request.chatId)}/stream${query ? `?${query}` : ''}`, { signal }, request);
  };

  /** The chunks of an answer, over as many connections as it takes. The wire has no cursor: a cut stream is sent again. */
  async function* read(response: Response, request: TransportRequest, signal: AbortSignal): AsyncGenerator<UIMessageChunk, void, undefined> {
    const filter = new ReplayFilter();
    for (let attempt = 0; ; attempt += 1) {
      try {
        for await (const chunk of readStream(response, { signal })) {
          const fresh = filter.pass(chunk);
          if (!fresh) continue;
          attempt = 0;
          yield fresh;
          if (chunk.type === 'finish' || chunk.type === 'abort') return;
        }
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof HeadwaterError && !error.retryable) throw error;
      }
      for (let next: Response | undefined; !next; attempt += 1) {
        if (attempt >= maxRetries) throw new HeadwaterError('stream.lost', 'the connection was lost', { retryable: true });
        await pause(retryDelay(attempt + 1), signal);
        next = await resume(request, signal).catch((error: unknown) => {
          signal.throwIfAborted();
          if (error instanceof HeadwaterError && !error.retryable) throw error;
          return undefined;
        });
        // The run has ended, and there is nothing more to send.
        if (next?.status === 204) return;
        response = next ?? response;
      }
      filter.restart();
    }
  }

  const stream = (response: Response, request: TransportRequest, signal = new AbortController().signal): ReadableStream<UIMessageChunk> => {
    const chunks = read(response, request, signal);
    return new ReadableStream<UIMessageChunk>({
      async pull(controller) {
        const { value, done } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return();
      },
    });
  };

  return {
    async sendMessages(request) {
      const { chatId: id, messages, trigger, messageId, abortSignal } = request;
      const sent = JSON.stringify({ ...body, ...request.body, id, messages, trigger, messageId });
      return stream(await ask(api, { method: 'POST', body: sent, signal: abortSignal ?? null }, request), request, abortSignal);
    },

    async reconnectToStream(request) {
      const response = await resume(request, new AbortController().signal);
      return response.status === 204 ? null : stream(response, request);
    },
  };
}

/** The parts of `@ag-ui/client` that `withConnect` needs. */
export interface AgUiClient<Stream> {
  HttpAgent: new (config: never) => { url: string };
  runHttpRequest: (...request: never[]) => unknown;
  transformHttpEventStream: (source: never) => Stream;
}

/**
 * `HttpAgent` of `@ag-ui/client` with `connect()`, which its own class does not have: it reads the thread and continues
 * its run after a reload. Give it the whole package.
 *
 * @example
 * ```ts
 * import * as agUi from '@ag-ui/client';
 * const HeadwaterAgent = withConnect(agUi);
 * const agent = new HeadwaterAgent({ url: 'https://example.com/v1/ag-ui/agent/chat/run', threadId });
 * await agent.connectAgent();
 * ```
 */
export function withConnect<Stream, Client extends AgUiClient<Stream>>(client: Client): Client['HttpAgent'] {
  // The type of the class that is extended is known to the caller alone.
  const Base = client.HttpAgent as unknown as new (config: never) => { url: string; requestInit(input: unknown): RequestInit };
  const { runHttpRequest, transformHttpEventStream } = client as unknown as {
    runHttpRequest: (request: () => Promise<Response>) => unknown;
    transformHttpEventStream: (source: unknown) => Stream;
  };
  class HeadwaterAgent extends Base {
    connect(input: unknown): Stream {
      const url = this.url.replace(/\/(run|chat)(?=$|\?)/, '/connect');
      if (url === this.url) throw new HeadwaterError('url.unknown', `connect() needs a URL that ends with /agent/<name>/run: ${url}`);
      return transformHttpEventStream(runHttpRequest(() => globalThis.fetch(url, this.requestInit(input))));
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
