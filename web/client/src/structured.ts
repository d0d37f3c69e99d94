// Structured objects: built up, update by update, while a run goes on. The rules and the texts of errors are those of
// the Kortyx reducer, but for metadata, which stays once it was given.

import { copy } from './draft.js';
import type { StructuredUpdate } from './native.js';
import { MAX_UNSET, typeName, writeStructured, type Misfit, type StructuredStreamState } from './structured-write.js';

export type { StructuredStreamState };

/**
 * The object after one update, as a new value: what the update does not touch is shared with `state`.
 *
 * @throws if the update does not fit: another stream, after `final`, a path through something that is no container, an
 * `append` to something that is no array, a `text-delta` to something that is no string.
 *
 * @example
 * ```ts
 * objects[chunk.streamId] = applyStructuredChunk(objects[chunk.streamId], chunk);
 * ```
 */
export function applyStructuredChunk<T = unknown>(state: StructuredStreamState<T> | undefined, chunk: StructuredUpdate): StructuredStreamState<T> {
  return writeStructured(state, chunk, copy, describe);
}

/** The object that a list of updates of one stream builds; `undefined` for an empty list. */
export function reduceStructuredChunks<T = unknown>(chunks: Iterable<StructuredUpdate>): StructuredStreamState<T> | undefined {
  let state: StructuredStreamState<T> | undefined;
  for (const chunk of chunks) state = applyStructuredChunk(state, chunk);
  return state;
}

function describe(misfit: Misfit, chunk: StructuredUpdate): Error {
  const { kind, streamId } = chunk;
  const path = 'path' in chunk ? chunk.path : '';
  const text = () => {
    switch (misfit.kind) {
      case 'stream':
        return `chunk streamId mismatch: expected ${misfit.state.streamId}, received ${streamId}`;
      case 'done':
        return `stream ${streamId} already completed with a final chunk`;
      case 'path':
        return path ? `chunk path "${path}" must not contain empty segments` : 'chunk path must be a non-empty dot-separated string';
      case 'unset':
        return `path "${path}" would leave more than ${MAX_UNSET} array elements of its stream unset`;
      case 'container':
        return `path conflict at ${misfit.place || '<root>'} for "${path}": expected ${misfit.expected} container, received ${typeName(misfit.found)}`;
      case 'target':
        return `${kind} requires path "${path}" to target ${misfit.expected}, received ${typeName(misfit.found)}`;
    }
  };
  return new Error(`Structured ${text()}.`);
}
