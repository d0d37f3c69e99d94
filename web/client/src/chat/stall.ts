import { recoverable } from '../errors.js';
import { onWake } from './wait.js';

/** One connection, which is left when it goes silent. */
export interface StallWatch {
  /** Of the request and its stream: aborted like the given one, or with `stream.stalled`. */
  signal: AbortSignal;
  /** To be called whenever bytes arrive. */
  onActivity: () => void;
  /** Ends the watch. */
  stop: () => void;
}

/** Watches a connection. The server sends a heartbeat every 15 seconds, so one that is silent for longer is dead. */
export function watchForStall(signal: AbortSignal, stallTimeout = 45_000): StallWatch {
  const stall = new AbortController();
  const abort = () => stall.abort(recoverable('stream.stalled', 'the stream is silent'));
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last: number;
  const onActivity = () => {
    last = Date.now();
    clearTimeout(timer);
    timer = setTimeout(abort, stallTimeout);
  };
  // Timers stand still while a computer sleeps, and its connections are gone afterwards: a heartbeat is missing.
  const unwake = onWake(() => Date.now() - last > stallTimeout / 3 && abort());
  onActivity();
  return {
    signal: AbortSignal.any([signal, stall.signal]),
    onActivity,
    stop() {
      clearTimeout(timer);
      unwake();
    },
  };
}
