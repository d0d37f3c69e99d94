/**
 * A document with a JSON Patch (RFC 6902) applied, as a new value. All of it is applied or nothing.
 *
 * @throws if an operation does not fit the document.
 */
export function applyPatch(document: unknown, patch: readonly unknown[]): unknown {
  // The document is the value of the empty key, which makes its own path one like any other.
  const root: Container = { '': structuredClone(document) };
  for (const { op, path, from, value } of patch as { op: string; path: string; from: string; value?: unknown }[]) {
    if (op === 'remove') take(root, path);
    else if (op === 'add') put(root, path, value);
    else if (op === 'replace') put(root, path, value, take(root, path));
    else if (op === 'move') put(root, path, take(root, from));
    else if (op === 'copy') put(root, path, structuredClone(read(root, from)));
    else if (op !== 'test' || JSON.stringify(read(root, path)) !== JSON.stringify(value)) throw misfit(path);
  }
  return root[''] ?? null;
}

type Container = Record<string, unknown>;

const misfit = (path: string) => new Error(`the JSON Patch does not fit the document at "${path}"`);

/** The container and the key that a path ends with. */
function find(root: Container, path: string): [Container, string] {
  const keys = String(path).split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop() as string;
  const parent = keys.reduce<unknown>((value, key) => (Object.hasOwn(Object(value), key) ? (value as Container)[key] : undefined), root);
  if (typeof parent !== 'object' || !parent) throw misfit(path);
  return [parent as Container, last];
}

function read(root: Container, path: string): unknown {
  const [parent, key] = find(root, path);
  if (!Object.hasOwn(parent, key)) throw misfit(path);
  return parent[key];
}

function take(root: Container, path: string): unknown {
  const value = read(root, path);
  const [parent, key] = find(root, path);
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
  return value;
}

function put(root: Container, path: string, value: unknown, _replaced?: unknown): void {
  const [parent, key] = find(root, path);
  if (!Array.isArray(parent)) Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true });
  else if (key === '-') parent.push(value);
  else if (/^(0|[1-9]\d*)$/.test(key) && Number(key) <= parent.length) parent.splice(Number(key), 0, value);
  else throw misfit(path);
}
