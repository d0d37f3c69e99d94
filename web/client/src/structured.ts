// Structured objects: built up, update by update, while a run continues. The rules and the texts of errors are those of
// the Kortyx reducer, but for metadata, which stays once it was given.

import { copy } from './draft.js';
import type { StructuredUpdate } from './native.js';
import { MAX_UNSET, writeStructured, type Misfit, type StructuredStreamState } from './structured-write.js';

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

const describe: Misfit = (why, chunk, expected, found, depth) => {
  const { kind, streamId } = chunk;
  const path = 'path' in chunk ? chunk.path : '';
  const texts = {
    stream: `chunk streamId mismatch: expected ${expected}, received ${streamId}`,
    done: `stream ${streamId} already completed with a final chunk`,
    path: path ? `chunk path "${path}" must not contain empty segments` : 'chunk path must be a non-empty dot-separated string',
    unset: `path "${path}" would leave more than ${MAX_UNSET} array elements of its stream unset`,
    container: `path conflict at ${path.split('.').slice(0, depth).join('.') || '<root>'} for "${path}": expected ${expected} container, received ${typeName(found)}`,
    target: `${kind} requires path "${path}" to target ${expected}, received ${typeName(found)}`,
  };
  return new Error(`Structured ${texts[why]}.`);
};

function typeName(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}
