import { watchForStall } from '../chat/stall.js';
import { backoff, pause } from '../chat/wait.js';
import { asError, errorOf, type HeadwaterError } from '../errors.js';
import { readBatches, type StreamEvent } from '../read-stream.js';
import { eventsUrl } from './run-url.js';
import { toStream } from './to-stream.js';

export interface ResumableFetchOptions {
  /** In place of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** How often a cut stream is asked for again without anything new in between: 10 times. */
  maxRetries?: number | undefined;
  /** The time before the n-th attempt, in milliseconds. */
  retryDelay?: ((attempt: number) => number) | undefined;
  /** How long a stream may be silent, in milliseconds: 45 seconds. The server sends a heartbeat every 15. */
  stallTimeout?: number | undefined;
}

/** The types that end a stream in the dialects. */
const ENDS = /^(RUN_FINISHED|RUN_ERROR|finish|abort|done)$/;

/** Whether a stream that is closed after this event is at its end. */
function isEnd({ event, data }: StreamEvent): boolean {
  if (event === 'done' || data === '[DONE]') return true;
  // Only the type of the event itself counts: what an application sends may have any.
  if (!/"type":\s*"(RUN_|finish|abort|done)/.test(data)) return false;
  try {
    return ENDS.test(String((JSON.parse(data) as { type?: unknown } | null)?.type));
  } catch {
    return false;
  }
}

const encoder = new TextEncoder();

/** The event as it is sent. */
const frame = ({ id, event, data }: StreamEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`;

/**
 * A `fetch` whose event streams continue after a cut, or when they go silent. It works with every client that takes a
 * `fetch`, for URLs of the form `…/v1/<dialect>/…` on a server that sends `x-run-id` and cursors.
 *
 * @example
 * ```ts
 * fetchServerSentEvents('/v1/ag-ui/chat?profile=tanstack', { fetchClient: resumableFetch() });
 * ```
 */
export function resumableFetch({ fetch = globalThis.fetch, ...options }: ResumableFetchOptions = {}): typeof globalThis.fetch {
  return async (input, init) => {
    const request = input instanceof Request ? input : undefined;
    const leave = new AbortController();
    const given = init?.signal ?? request?.signal;
    const signal = given ? AbortSignal.any([leave.signal, given]) : leave.signal;
    const response = await fetch(input, { ...init, signal });
    const again = eventsUrl(request?.url ?? String(input), response.headers.get('x-run-id'));
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (!response.ok || !response.body || !again || !isStream) return response;

    const reconnect = (cursor: string, connection: AbortSignal) => {
      const headers = new Headers(init?.headers ?? request?.headers);
      headers.set('last-event-id', cursor);
      headers.delete('content-type');
      return fetch(again, { headers, signal: connection, credentials: init?.credentials ?? request?.credentials ?? 'same-origin' });
    };
    const body = toStream(readFrames(response, reconnect, signal, options), leave);
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

/** The events of a stream as bytes, over as many connections as it takes: half of one that a cut left is sent again. */
async function* readFrames(
  first: Response,
  reconnect: (cursor: string, signal: AbortSignal) => Promise<Response>,
  signal: AbortSignal,
  { maxRetries = 10, retryDelay = backoff, stallTimeout }: ResumableFetchOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  let cursor: string | undefined;
  let failures = 0;
  for (let response: Response | undefined = first; ; response = undefined) {
    const stall = watchForStall(signal, stallTimeout);
    let failure: HeadwaterError | undefined;
    try {
      response ??= await reconnect(cursor as string, stall.signal);
      if (!response.ok) throw await errorOf(response);
      // The run has ended, and nothing is left to send.
      if (response.headers.get('content-length') === '0') return;
      for await (const events of readBatches(response, { ...stall, framing: 'sse', keepTail: false })) {
        failures = 0;
        cursor = events.findLast(({ id }) => id !== undefined)?.id ?? cursor;
        yield encoder.encode(events.map(frame).join(''));
        if (events.some(isEnd)) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      failure = asError(error);
      // Without a cursor there is no place to continue from.
      if (cursor === undefined || !(failure.retryable || failure.status)) throw error;
    } finally {
      stall.stop();
    }
    failures += 1;
    // Without an end the client reports what it always does.
    if (cursor === undefined || failures > maxRetries || failure?.retryable === false) return;
    await pause(failure?.retryAfter ?? retryDelay(failures), signal);
  }
}
