/**
 * Something went wrong between this client and the server, or inside a run.
 *
 * `code` is stable and for programs: the code of the server (`session.busy`, `model.overloaded`, …; docs/http.md lists
 * them), or one of the client: `network`, `timeout`, `http.<status>`, `stream.html`, `stream.json`, `stream.too-large`,
 * `stream.cut`, `stream.lost`, `stream.empty`, `storage`. `message` is for people.
 *
 * @example
 * ```ts
 * chat.send('Hello').catch((error) => {
 *   if (error instanceof HeadwaterError && error.code === 'http.401') showLogin();
 * });
 * ```
 */
export class HeadwaterError extends Error {
  declare readonly code: string;
  /** The status of the response, if there was one. */
  declare readonly status: number | undefined;
  /** Whether the same request may succeed later. */
  declare readonly retryable: boolean;
  /** How long the server asked to wait, in milliseconds. */
  declare readonly retryAfter: number | undefined;

  constructor(code: string, message: string, options: Partial<Pick<HeadwaterError, 'status' | 'retryable' | 'retryAfter' | 'cause'>> = {}) {
    super(message);
    Object.assign(this, { name: 'HeadwaterError', retryable: false, ...options, code });
  }
}

/** The error that a response is. Its body is the server's `{error, code}`, or anything that stands in between wrote. */
export async function errorOf(response: Response): Promise<HeadwaterError> {
  const { status } = response;
  // A proxy's page is of no use to people, and other servers have objects in `error`.
  const body = (await response.json().catch(() => undefined)) as { code?: unknown; error?: unknown } | undefined;
  const [code, message] = typeof body?.error === 'string' ? [body.code, body.error] : [];
  const retryable = /^(408|429|5)/.test(String(status));
  // The server gives seconds; a proxy may give a date.
  const time = response.headers.get('retry-after') ?? '';
  const retryAfter = Math.max(0, Number(time) * 1000 || Date.parse(time) - Date.now()) || undefined;
  return new HeadwaterError(String(code ?? `http.${status}`), message ?? `the server responded with ${status}`, { status, retryable, retryAfter });
}

/** An error of a connection: another one may succeed. */
export const recoverable = (code: string, message: string): HeadwaterError => new HeadwaterError(code, message, { retryable: true });

/** Whatever was thrown, as an error with a code. What a runtime calls it is its cause: nothing for people. */
export function asError(cause: unknown, code = 'network', message = 'cannot reach the server'): HeadwaterError {
  return cause instanceof HeadwaterError ? cause : new HeadwaterError(code, message, { retryable: code === 'network', cause });
}

/** An error that shows that no Headwater server responded. */
export const asUnexpected = (cause?: unknown): HeadwaterError => asError(cause, 'http.invalid', 'unexpected response: check the URL');
