import { applyStructuredChunk, SnapshotStore, type StructuredStreamState, type StructuredUpdate } from '@headwater/client';
import { useMemo, useState, useSyncExternalStore } from 'react';

/** What `useStructuredStreams` gives. */
export interface UseStructuredStreams<T> {
  /** The objects in the order in which they began. */
  items: readonly StructuredStreamState<T>[];
  byStreamId: Readonly<Record<string, StructuredStreamState<T>>>;
  /** An object as it is now, also before the next render. */
  get: (streamId: string) => StructuredStreamState<T> | undefined;
  /** Applies a chunk of a stream. Chunks that are not about structured objects are passed over. */
  applyStreamChunk: (chunk: { type: string }) => void;
  delete: (streamId: string) => void;
  /** Forgets all objects, between two runs. */
  clear: () => void;
}

/**
 * The structured objects of a stream. However many chunks arrive, it renders once per frame.
 *
 * @example
 * ```tsx
 * const structured = useStructuredStreams<Email>();
 * for await (const chunk of readStream(response.body)) structured.applyStreamChunk(chunk);
 * ```
 */
export function useStructuredStreams<T = unknown>({ initialChunks = [] }: { initialChunks?: readonly { type: string }[] } = {}): UseStructuredStreams<T> {
  const [objects] = useState(() => new StructuredStreams<T>(initialChunks));
  const snapshot = useSyncExternalStore(objects.store.subscribe, objects.store.getSnapshot, objects.store.getSnapshot);
  const { get, applyStreamChunk, delete: remove, clear } = objects;
  return useMemo(() => ({ ...snapshot, get, applyStreamChunk, delete: remove, clear }), [snapshot, objects]);
}

interface Snapshot<T> {
  items: readonly StructuredStreamState<T>[];
  byStreamId: Readonly<Record<string, StructuredStreamState<T>>>;
}

class StructuredStreams<T> {
  /** In the order in which they began, which an object does not keep for keys that look like numbers. */
  #objects = new Map<string, StructuredStreamState<T>>();
  readonly store: SnapshotStore<Snapshot<T>>;

  constructor(chunks: readonly { type: string }[]) {
    for (const chunk of chunks) this.#apply(chunk);
    this.store = new SnapshotStore(() => ({ items: [...this.#objects.values()], byStreamId: Object.fromEntries(this.#objects) }));
  }

  readonly get = (streamId: string): StructuredStreamState<T> | undefined => this.#objects.get(streamId);

  readonly applyStreamChunk = (chunk: { type: string }): void => {
    if (this.#apply(chunk)) this.store.changed();
  };

  readonly delete = (streamId: string): void => {
    if (this.#objects.delete(streamId)) this.store.flush();
  };

  readonly clear = (): void => {
    this.#objects.clear();
    this.store.flush();
  };

  /** Whether the chunk was about an object. */
  #apply(chunk: { type: string }): boolean {
    if (chunk.type === 'structured-data' || chunk.type === 'structured') {
      const update = chunk as unknown as StructuredUpdate;
      this.#objects.set(update.streamId, applyStructuredChunk(this.#objects.get(update.streamId), update));
      return true;
    }
    const { streamId = '', streamIds = [streamId] } = chunk as { streamId?: string; streamIds?: string[] };
    return chunk.type === 'structured-data-invalidated' && streamIds.filter((stream) => this.#objects.delete(stream)).length > 0;
  }
}
