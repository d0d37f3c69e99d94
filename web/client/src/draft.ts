/**
 * Copies on the first write after a snapshot, so that a burst of small changes costs one copy of what it changes, and
 * everything else keeps its identity.
 */
export class Draft {
  #owned = new WeakSet<object>();

  /** A copy of `value` that may be changed until the next snapshot; `value` itself if it is one. */
  readonly own = <T extends object>(value: T): T => {
    if (this.#owned.has(value)) return value;
    const copy = (Array.isArray(value) ? value.slice() : { ...value }) as T;
    this.#owned.add(copy);
    return copy;
  };

  /** Readers may hold the returned values from now on. */
  seal(): void {
    this.#owned = new WeakSet();
  }
}

/** Copies on every write. */
export const copy = <T extends object>(value: T): T => (Array.isArray(value) ? value.slice() : { ...value }) as T;
