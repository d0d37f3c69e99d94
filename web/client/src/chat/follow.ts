import { asError, HeadwaterError } from '../errors.js';
import { readBatches, type StreamEvent } from '../read-stream.js';
import type { Http, RequestOptions } from './http.js';
import { backoff, pause } from './wait.js';

/** How the stream of a run is connected. */
export type Connection = 'closed' | 'connecting' | 'open' | 'lost';

export interface FollowOptions {
  /** How long a stream may be silent, in milliseconds: 45 seconds. The server sends a sign of life every 15. */
  stallTimeout?: number | undefined;
  /** How often a lost stream is asked for again without anything new in between: 10 times. */
  maxRetries?: number | undefined;
  /** The time before the n-th attempt, in milliseconds. */
  retryDelay?: ((attempt: number) => number) | undefined;
  /** The longest event that is taken, in characters: 8 Mi. */
  maxEventLength?: number | undefined;
}

/**
 * Reads a stream until `onEvent` returns true, over as many connections as it takes. `request` is asked before each of
 * them, for the cursor.
 *
 * @throws when it is aborted, when the server refuses, and when the connection cannot be had again.
 */
export async function followStream(
  http: Http,
  path: string[],
  request: () => RequestOptions,
  signal: AbortSignal,
  onEvent: (event: StreamEvent) => unknown,
  onConnection: (connection: Connection) => void,
  { maxEventLength, maxRetries = 10, retryDelay = backoff, stallTimeout = 45_000 }: FollowOptions,
): Promise<void> {
  let attempt = 0;

  /** Reads one connection; true if the stream has come to its end. */
  const connect = async (): Promise<boolean> => {
    const stall = new AbortController();
    const either = AbortSignal.any([signal, stall.signal]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onActivity = () => {
      clearTimeout(timer);
      timer = setTimeout(() => stall.abort(recoverable('stream.stalled', 'the stream went silent')), stallTimeout);
    };
    onActivity();
    try {
      const response = await http.open(path, either, request());
      onConnection('open');
      for await (const events of readBatches(response, { signal: either, maxEventLength, onActivity })) {
        for (const event of events) {
          attempt = 0;
          if (onEvent(event)) return true;
        }
      }
      return false;
    } finally {
      clearTimeout(timer);
    }
  };

  for (;;) {
    let error: HeadwaterError;
    try {
      onConnection('connecting');
      if (await connect()) return;
      error = recoverable('stream.cut', 'the stream ended before the run did');
    } catch (thrown) {
      signal.throwIfAborted();
      // A body that breaks off is an error of `fetch`.
      error = asError(thrown);
      if (!error.retryable) throw error;
    }
    attempt += 1;
    if (attempt >= maxRetries) throw recoverable('stream.lost', `the connection was lost: ${error.message}`);
    onConnection('lost');
    await pause(error.retryAfter ?? retryDelay(attempt), signal);
  }
}

const recoverable = (code: string, message: string) => new HeadwaterError(code, message, { retryable: true });
