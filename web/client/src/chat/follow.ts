import { asError, HeadwaterError } from '../errors.js';
import type { NativeRecord } from '../native.js';
import { readBatches } from '../read-stream.js';
import type { Http } from './http.js';
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

interface Follow extends FollowOptions {
  http: Http;
  run: string;
  /** `now` for the current state first; otherwise from the first record. */
  after?: 'now' | undefined;
  signal: AbortSignal;
  onRecord: (record: NativeRecord) => void;
  onConnection: (connection: Connection) => void;
}

/**
 * Reads the records of a run until its end, over as many connections as it takes. Each record comes once: a cut
 * connection continues after its cursor.
 *
 * @throws when it is aborted, when the server refuses, and when the connection cannot be had again.
 */
export async function followRun(follow: Follow): Promise<void> {
  const { http, run, signal, maxEventLength, onConnection, onRecord, maxRetries = 10, retryDelay = backoff, stallTimeout = 45_000 } = follow;
  let { after } = follow;
  let cursor: string | undefined;
  let attempt = 0;

  /** Reads one connection; true if the run has ended. */
  const connect = async (): Promise<boolean> => {
    const controller = new AbortController();
    const leave = () => controller.abort(signal.reason);
    signal.addEventListener('abort', leave);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onActivity = () => {
      clearTimeout(timer);
      timer = setTimeout(() => controller.abort(recoverable('stream.stalled', 'the server has sent nothing for too long')), stallTimeout);
    };
    onActivity();
    try {
      const response = await http.open(['runs', run, 'events'], controller.signal, {
        headers: { accept: 'text/event-stream', 'last-event-id': cursor },
        query: { after: cursor ? undefined : after },
      });
      onConnection('open');
      for await (const events of readBatches(response, { signal: controller.signal, maxEventLength, onActivity })) {
        for (const { id, data } of events) {
          const record = parse(data);
          cursor = id ?? record.cursor ?? cursor;
          // Records that rebuild the state have no cursor: after a cut they are asked for again.
          if (record.replay) after = 'now';
          attempt = 0;
          onRecord(record);
          if (/^run-(finished|failed|cancelled)$/.test(record.event.type)) return true;
        }
      }
      return false;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
      controller.abort();
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

function parse(data: string): NativeRecord {
  try {
    const record = JSON.parse(data) as NativeRecord;
    if (record.event.type) return record;
  } catch {
    // The same error.
  }
  throw new HeadwaterError('stream.json', `this is not a native record: ${data.slice(0, 80)}`);
}
