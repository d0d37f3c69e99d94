// A server that does what a test says, without a network.

import type { ChatOptions, Event, NativeRecord } from '@headwater/client';

/** A stream that is written while it is read. */
export class FakeStream {
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #seq = 0;
  isCancelled = false;
  readonly response: Response;

  constructor(readonly request: FakeRequest) {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      cancel: () => void (this.isCancelled = true),
    });
    this.response = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  raw(text: string): void {
    this.#controller.enqueue(new TextEncoder().encode(text));
  }

  /** Sends events of the message `m1` in one piece. */
  send(...events: (Event | [Event, Partial<NativeRecord>])[]): void {
    const frames = events.map((item) => {
      const [event, fields] = Array.isArray(item) ? item : [item, {}];
      this.#seq += 1;
      const id = fields.replay ? '' : `id: cursor-${this.#seq}\n`;
      return `${id}event: ${event.type}\ndata: ${JSON.stringify({ seq: this.#seq, message: 'm1', ...fields, event })}\n\n`;
    });
    this.raw(frames.join(''));
  }

  text(delta: string): void {
    this.send({ type: 'block-delta', kind: 'text', id: 't1', delta });
  }

  /** Ends in good order. */
  close(): void {
    this.#controller.close();
  }

  /** Breaks off. */
  cut(): void {
    this.#controller.error(new TypeError('terminated'));
  }
}

export interface FakeRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: any;
}

type Handler = (request: FakeRequest) => Response | Promise<Response>;

export const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json', ...headers } });

export class FakeServer {
  readonly requests: FakeRequest[] = [];
  /** The streams that were asked for, in order. */
  readonly streams: FakeStream[] = [];
  #handlers = new Map<string, Handler>();
  #arrivals: (() => void)[] = [];

  constructor() {
    let runs = 0;
    this.on('POST runs', () => json({ run: `r${(runs += 1)}`, agent: 'chat', queued: false, repeated: false }, 201));
    this.on('GET runs/*/events', (request) => {
      const stream = new FakeStream(request);
      this.streams.push(stream);
      return stream.response;
    });
    this.on('GET sessions/*', () => json({ error: 'no such session', code: 'session.unknown' }, 404));
    this.on('GET sessions/*/queue', () => json({ queue: [] }));
  }

  /** Replaces what a route does; `*` stands for one segment. */
  on(route: string, handler: Handler): this {
    this.#handlers.set(route, handler);
    return this;
  }

  readonly fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(String(input));
    const path = url.pathname.replace(/^\/v1\//, '');
    const { method = 'GET' } = init;
    const request: FakeRequest = {
      method,
      path,
      query: url.searchParams,
      headers: new Headers(init.headers),
      body: init.body ? JSON.parse(String(init.body)) : undefined,
    };
    this.requests.push(request);
    const route = [...this.#handlers.keys()].find((known) => new RegExp(`^${known.replaceAll('*', '[^/]+')}$`).test(`${method} ${path}`));
    const handler = route && this.#handlers.get(route);
    if (!handler) return json({ error: 'no such route', code: 'route.unknown' }, 404);
    const { signal } = init;
    const aborted = new Promise<never>((_, reject) => {
      if (signal?.aborted) reject(signal.reason);
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
    aborted.catch(() => {});
    const response = await Promise.race([handler(request), aborted]);
    for (const arrival of this.#arrivals.splice(0)) arrival();
    return response;
  };

  /** The n-th stream, as soon as it is asked for. */
  async stream(index: number): Promise<FakeStream> {
    for (;;) {
      const stream = this.streams[index];
      if (stream) return stream;
      await new Promise<void>((resolve) => this.#arrivals.push(resolve));
    }
  }

  /** Options that reach this server, retry at once, and flush without delay. */
  options(more: Partial<ChatOptions> = {}): ChatOptions {
    return { url: 'http://fake', fetch: this.fetch as typeof fetch, retryDelay: () => 0, flushInterval: 0, ...more };
  }
}

/** Resolves when a condition holds; the runner's own limit ends a wait that is in vain. */
export async function until(condition: () => unknown): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}
