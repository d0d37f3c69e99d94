// How an update of a structured object is applied. Keys that JavaScript objects inherit are plain data.

import { isObject } from './assign.js';
import type { StructuredUpdate } from './native.js';

/** The most array elements that one update may leave unset: an index is a number that the model wrote. */
export const MAX_UNSET = 100_000;

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

/** Makes a changeable copy of a container. */
export type Own = <T extends object>(value: T) => T;

/** Words an error: what does not fit, the expected and the found value, and the depth in the path. */
export type Misfit = (kind: 'stream' | 'done' | 'path' | 'unset' | 'container' | 'target', chunk: StructuredUpdate, expected?: string, found?: unknown, depth?: number) => Error;

type Container = Record<string | number, unknown>;

/** The object after one update: what the update does not touch is shared with `state`. A refused update has changed nothing. */
export function writeStructured<T>(
  state: StructuredStreamState<T> | undefined,
  chunk: StructuredUpdate,
  own: Own,
  misfit: Misfit,
): StructuredStreamState<T> {
  const { streamId, dataType, kind } = chunk;
  if (state && state.streamId !== streamId) throw misfit('stream', chunk, state.streamId);
  if (state?.status === 'done') throw misfit('done', chunk);

  const isFinal = kind === 'final';
  const segments = isFinal ? [] : String(chunk.path).split('.');
  if (segments.includes('')) throw misfit('path', chunk);
  let unset = 0;

  /** The value at a depth of the path after the update. Containers are written on the way back, when everything has been checked. */
  const update = (value: unknown, depth: number): unknown => {
    const segment = segments[depth];
    if (segment === undefined) return leaf(value);
    const key = keyOf(segment);
    const isIndex = typeof key === 'number';
    if (value !== undefined && !(isIndex ? Array.isArray(value) : isObject(value))) throw misfit('container', chunk, isIndex ? 'array' : 'object', value, depth);
    if (isIndex) unset += Math.max(0, key - ((value as unknown[] | undefined)?.length ?? 0));
    if (unset > MAX_UNSET) throw misfit('unset', chunk);
    const held = Object.hasOwn((value as Container | undefined) ?? {}, key) ? (value as Container)[key] : undefined;
    const next = update(held, depth + 1);
    const container = (value === undefined ? (isIndex ? [] : {}) : own(value as Container)) as Container;
    // Assigning to `__proto__` would replace the prototype.
    if (next !== undefined) Object.defineProperty(container, key, { value: next, writable: true, enumerable: true, configurable: true });
    else {
      delete container[key];
      // An element that is unset still counts.
      if (isIndex) container['length'] = Math.max(container['length'] as number, key + 1);
    }
    return container;
  };

  /** The value at the end of the path. */
  const leaf = (value: unknown): unknown => {
    if (chunk.kind === 'append') {
      if (value !== undefined && !Array.isArray(value)) throw misfit('target', chunk, 'an array', value);
      const items = own((value as unknown[] | undefined) ?? []);
      for (const item of chunk.items) items.push(item);
      return items;
    }
    if (chunk.kind !== 'text-delta') return (chunk as { value?: unknown }).value;
    if (value !== undefined && typeof value !== 'string') throw misfit('target', chunk, 'a string', value);
    return (value ?? '') + chunk.delta;
  };

  const data = isFinal ? chunk.data : update(state?.data, 0);
  const next = { ...state, streamId, dataType, status: isFinal ? 'done' : 'streaming', data } as StructuredStreamState<T>;
  for (const key of ['node', 'id', 'schemaId', 'schemaVersion'] as const) if (chunk[key]) next[key] = chunk[key];
  return next;
}

/** A key says what a path could not say otherwise with a tilde: `~1` is a dot, `~:12` a key of digits. */
function keyOf(segment: string): string | number {
  if (/^\d+$/.test(segment)) return Number(segment);
  return segment.replace(/^~:/, '').replace(/~[012]/g, (escape) => '~.*'[Number(escape[1])] as string);
}
