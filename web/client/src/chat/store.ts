/**
 * A snapshot that changes at most once per interval, however often its source does. Readers that ask in between get the
 * same object, which `useSyncExternalStore` relies on.
 */
export class SnapshotStore<S> {
  #read: () => S;
  #interval: number;
  #snapshot: S;
  #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The delay of the timer. */
  #delay = Infinity;

  constructor(
    read: () => S,
    interval = 16,
  ) {
    this.#read = read;
    this.#interval = interval;
    this.#snapshot = read();
  }

  readonly getSnapshot = (): S => this.#snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** The source has changed. */
  changed(delay = this.#interval): void {
    if (delay >= this.#delay) return;
    clearTimeout(this.#timer);
    this.#delay = delay;
    this.#timer = setTimeout(() => this.flush(), delay);
  }

  /**
   * Takes a new snapshot at once, for changes that should be seen without delay. With `delay` the listeners are called
   * with the next change, or after that time: for a change that another one is about to follow.
   */
  flush(delay?: number): void {
    this.#snapshot = this.#read();
    if (delay) return this.changed(delay);
    clearTimeout(this.#timer);
    this.#delay = Infinity;
    for (const listener of this.#listeners) listener();
  }
}
