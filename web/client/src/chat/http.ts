import { asError, asUnexpected, errorOf, recoverable } from '../errors.js';

export interface HttpOptions {
  /** Where the server is: `https://example.com`, or the empty string for the page's own origin. */
  url: string;
  /** Headers of every request, for credentials. A function is called for each request. */
  headers?: HeadersInit | (() => HeadersInit | Promise<HeadersInit>) | undefined;
  /** In place of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** How long a request may take, in milliseconds: 30 seconds. Streams have `stallTimeout`. */
  requestTimeout?: number | undefined;
}

export interface RequestOptions {
  method?: string;
  body?: unknown;
  headers?: Record<string, string | undefined>;
  /** `after=now`, for example. */
  query?: string | undefined;
}

/** Requests to one server, by the segments of their path under `/v1`. Whatever goes wrong is a `HeadwaterError`. */
export class Http {
  #options: () => HttpOptions;

  /** The options are read for each request: headers may change. */
  constructor(options: () => HttpOptions) {
    this.#options = options;
  }

  /** The JSON that a route responds with; `undefined` for 204. */
  async json<T>(path: string[], options?: RequestOptions): Promise<T> {
    const { requestTimeout = 30_000 } = this.#options();
    const response = await this.open(path, AbortSignal.timeout(requestTimeout), options);
    try {
      const text = await response.text();
      return (text && JSON.parse(text)) as T;
    } catch (error) {
      throw error instanceof SyntaxError ? asUnexpected(error) : asError(error);
    }
  }

  /** A response whose status is good. Its body is not read. */
  async open(path: string[], signal: AbortSignal, { method, body, headers = {}, query = '' }: RequestOptions = {}): Promise<Response> {
    const { url, headers: own, fetch = globalThis.fetch } = this.#options();
    let response: Response;
    try {
      const all = new Headers(typeof own === 'function' ? await own() : own);
      if (body) all.set('content-type', 'application/json');
      for (const key in headers) if (headers[key]) all.set(key, headers[key]);
      response = await fetch(`${url.replace(/\/$/, '')}/v1/${path.map(encodeURIComponent).join('/')}?${query}`, {
        method: method ?? (body ? 'POST' : 'GET'),
        headers: all,
        // `undefined` without a body.
        body: JSON.stringify(body),
        signal,
      });
    } catch (error) {
      if (!signal.aborted) throw asError(error);
      if ((signal.reason as Error | undefined)?.name !== 'TimeoutError') throw signal.reason;
      throw recoverable('timeout', 'the server did not respond');
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  }
}
