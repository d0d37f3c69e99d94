import { asError, recoverable, type HeadwaterError } from '../errors.js';
import { readBatches, type StreamEvent } from '../read-stream.js';
import type { Http, RequestOptions } from './http.js';
import { watchForStall } from './stall.js';
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
  { maxEventLength, maxRetries = 10, retryDelay = backoff, stallTimeout }: FollowOptions,
): Promise<void> {
  let attempt = 0;

  /** Reads one connection; true if the stream has come to its end. */
  const connect = async (): Promise<boolean> => {
    const stall = watchForStall(signal, stallTimeout);
    try {
      const response = await http.open(path, stall.signal, request());
      onConnection('open');
      for await (const events of readBatches(response, { ...stall, maxEventLength })) {
        for (const event of events) {
          attempt = 0;
          if (onEvent(event)) return true;
        }
      }
      return false;
    } finally {
      stall.stop();
    }
  };

  for (;;) {
    let error: HeadwaterError;
    try {
      onConnection('connecting');
      if (await connect()) return;
      error = recoverable('stream.cut', 'the stream ended early');
    } catch (thrown) {
      signal.throwIfAborted();
      // A body that breaks off is an error of `fetch`.
      error = asError(thrown);
      if (!error.retryable) throw error;
    }
    attempt += 1;
    if (attempt >= maxRetries) throw recoverable('stream.lost', `connection lost: ${error.message}`);
    onConnection('lost');
    await pause(error.retryAfter ?? retryDelay(attempt), signal);
  }
}
