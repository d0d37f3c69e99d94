// Structured objects: built up, update by update, while a run goes on. The rules and the texts of errors are those of
// the Kortyx reducer; keys that JavaScript objects inherit are plain data here, and metadata stays once it was given.

import { copy } from './draft.js';
import type { StructuredUpdate } from './native.js';

/** The most array elements that one update may leave unset: an index is a number that the model wrote. */
const MAX_UNSET = 100_000;

/** An object so far. */
export interface StructuredStreamState<T = unknown> {
  streamId: string;
  dataType: string;
  status: 'streaming' | 'done';
  data?: T;
  node?: string;
  id?: string;
  schemaId?: string;
  schemaVersion?: string;
}

/** Makes a changeable copy of a container; `copy` unless the caller knows that nobody else holds it. */
type Own = <T extends object>(value: T) => T;

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
export function applyStructuredChunk<T = unknown>(
  state: StructuredStreamState<T> | undefined,
  chunk: StructuredUpdate,
  own: Own = copy,
): StructuredStreamState<T> {
  const { streamId } = chunk;
  if (state && state.streamId !== streamId) {
    throw new Error(`Structured chunk streamId mismatch: expected ${state.streamId}, received ${streamId}.`);
  }
  if (state?.status === 'done') throw new Error(`Structured stream ${streamId} already completed with a final chunk.`);
  const isFinal = chunk.kind === 'final';
  const data = isFinal ? chunk.data : write(state?.data, chunk, own);
  const next: StructuredStreamState<T> = {
    ...state,
    streamId,
    dataType: chunk.dataType,
    status: isFinal ? 'done' : 'streaming',
    data: data as T,
  };
  for (const key of ['node', 'id', 'schemaId', 'schemaVersion'] as const) if (chunk[key]) next[key] = chunk[key];
  return next;
}

/** The object that a list of updates of one stream builds; `undefined` for an empty list. */
export function reduceStructuredChunks<T = unknown>(chunks: Iterable<StructuredUpdate>): StructuredStreamState<T> | undefined {
  let state: StructuredStreamState<T> | undefined;
  for (const chunk of chunks) state = applyStructuredChunk(state, chunk);
  return state;
}

type Container = Record<string, unknown> | unknown[];

function write(root: unknown, chunk: Exclude<StructuredUpdate, { kind: 'final' }>, own: Own): unknown {
  const { path } = chunk;
  if (!path) throw new Error('Structured chunk path must be a non-empty dot-separated string.');
  const segments = path.split('.');
  if (segments.includes('')) throw new Error(`Structured chunk path "${path}" must not contain empty segments.`);
  check(root, segments, chunk);

  // Everything fits, so nothing below can fail: a refused update has changed nothing.
  const holder: Container = { root };
  let parent: Container = holder;
  let key: string | number = 'root';
  for (const segment of segments) {
    const found = get(parent, key);
    const inner = found === undefined ? (isIndex(segment) ? [] : {}) : own(found as Container);
    set(parent, key, inner);
    parent = inner as Container;
    key = keyOf(segment);
  }
  const found = get(parent, key);
  if (chunk.kind === 'text-delta') set(parent, key, ((found as string | undefined) ?? '') + chunk.delta);
  else if (chunk.kind === 'append') {
    const items = found === undefined ? [] : own(found as unknown[]);
    for (const item of chunk.items) items.push(item);
    set(parent, key, items);
  } else if (chunk.value !== undefined) set(parent, key, chunk.value);
  else if (Array.isArray(parent)) {
    // Not written, but counted: the element is unset.
    parent.length = Math.max(parent.length, (key as number) + 1);
    delete parent[key as number];
  } else delete parent[key];
  return holder['root'];
}

function check(root: unknown, segments: string[], chunk: Exclude<StructuredUpdate, { kind: 'final' }>): void {
  const { path } = chunk;
  let found = root;
  let unset = 0;
  segments.forEach((segment, depth) => {
    const expected = isIndex(segment) ? 'array' : 'object';
    if (found !== undefined && typeName(found) !== expected) {
      const place = depth === 0 ? '<root>' : segments.slice(0, depth).join('.');
      throw new Error(`Structured path conflict at ${place} for "${path}": expected ${expected} container, received ${typeName(found)}.`);
    }
    if (isIndex(segment)) unset += Math.max(0, Number(segment) - ((found as unknown[] | undefined)?.length ?? 0));
    found = found === undefined ? undefined : get(found as Container, keyOf(segment));
  });
  if (unset > MAX_UNSET) {
    throw new Error(`Structured path "${path}" would leave more than ${MAX_UNSET} array elements of its stream unset.`);
  }
  if (found === undefined) return;
  if (chunk.kind === 'append' && !Array.isArray(found)) {
    throw new Error(`Structured append requires path "${path}" to target an array, received ${typeName(found)}.`);
  }
  if (chunk.kind === 'text-delta' && typeof found !== 'string') {
    throw new Error(`Structured text-delta requires path "${path}" to target a string, received ${typeName(found)}.`);
  }
}

const isIndex = (segment: string): boolean => /^\d+$/.test(segment);

/** A key says what a path could not say otherwise with a tilde: `~1` is a dot, `~:12` a key of digits. */
function keyOf(segment: string): string | number {
  if (isIndex(segment)) return Number(segment);
  return segment.replace(/^~:/, '').replace(/~[012]/g, (escape) => '~.*'[Number(escape[1])] as string);
}

function get(container: Container, key: string | number): unknown {
  return Object.hasOwn(container, key) ? (container as Record<string | number, unknown>)[key] : undefined;
}

function set(container: Container, key: string | number, value: unknown): void {
  // Assigning to `__proto__` would replace the prototype.
  if (key === '__proto__') Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
  else (container as Record<string | number, unknown>)[key] = value;
}

function typeName(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}
