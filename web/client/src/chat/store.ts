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
  changed(): void {
    this.#timer ??= setTimeout(() => this.flush(), this.#interval);
  }

  /** Takes a new snapshot at once, for changes that should be seen without delay. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#snapshot = this.#read();
    for (const listener of this.#listeners) listener();
  }
}
