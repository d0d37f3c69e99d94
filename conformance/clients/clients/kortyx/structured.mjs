// `applyStructuredChunk` of @kortyx/stream as recorded: returns a new state, or an error that ends the
// stream. Only names that objects inherit, such as `__proto__`, are treated as plain keys.

export function applyStructuredChunk(state, chunk) {
  const { streamId, kind, path } = chunk;
  if (state && state.streamId !== streamId) {
    throw new Error(`Structured chunk streamId mismatch: expected ${state.streamId}, received ${streamId}.`);
  }
  if (state?.status === 'done') {
    throw new Error(`Structured stream ${streamId} already completed with a final chunk.`);
  }
  const next = { streamId, dataType: chunk.dataType, status: kind === 'final' ? 'done' : 'streaming' };
  for (const field of ['node', 'id', 'schemaId', 'schemaVersion']) if (chunk[field]) next[field] = chunk[field];
  next.data = kind === 'final' ? chunk.data : changed(state?.data, segments(path), path, chunk);
  return next;
}

function segments(path) {
  if (!path) throw new Error('Structured chunk path must be a non-empty dot-separated string.');
  const segments = path.split('.');
  if (segments.includes('')) throw new Error(`Structured chunk path "${path}" must not contain empty segments.`);
  return segments;
}

function changed(root, segments, path, chunk) {
  const step = (value, at) => {
    if (at === segments.length) return leaf(value, path, chunk);
    const array = /^\d+$/.test(segments[at]);
    const place = segments.slice(0, at).join('.') || '<root>';
    if (value !== undefined && typeOf(value) !== (array ? 'array' : 'object')) {
      throw new Error(
        `Structured path conflict at ${place} for "${path}": expected ${array ? 'array' : 'object'} container, ` +
          `received ${typeOf(value)}.`,
      );
    }
    const key = segments[at];
    // A computed key is defined, never assigned, so that `__proto__` is a key too.
    if (!array) return { ...value, [key]: step(Object.hasOwn(value ?? {}, key) ? value[key] : undefined, at + 1) };
    const copy = [...(value ?? [])];
    copy[Number(key)] = step(copy[Number(key)], at + 1);
    return copy;
  };
  return step(root, 0);
}

function leaf(value, path, { kind, value: set, items, delta }) {
  if (kind === 'set') return set;
  if (kind === 'append') {
    if (value !== undefined && !Array.isArray(value)) {
      throw new Error(`Structured append requires path "${path}" to target an array, received ${typeOf(value)}.`);
    }
    return [...(value ?? []), ...items];
  }
  if (value !== undefined && typeof value !== 'string') {
    throw new Error(`Structured text-delta requires path "${path}" to target a string, received ${typeOf(value)}.`);
  }
  return (value ?? '') + delta;
}

function typeOf(value) {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
