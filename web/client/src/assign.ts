/** Sets the fields of an object that have a value, and removes those that are `undefined`: as JSON would have it. */
export function assign<T extends object>(target: T, fields: { [K in keyof T]?: T[K] | undefined }): T {
  for (const key in fields) {
    if (fields[key] === undefined) delete target[key];
    else target[key] = fields[key] as T[typeof key];
  }
  return target;
}

export const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Merges metadata key by key, all the way down; everything else is replaced. Keys that `skips` matches are left out. */
export function merge(held: unknown, next: unknown, skips?: RegExp): unknown {
  if (!isObject(held) || !isObject(next)) return next;
  const merged = { ...held };
  for (const key in next) if (!skips?.test(key)) merged[key] = merge(merged[key], next[key], skips);
  return merged;
}
