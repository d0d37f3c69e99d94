/**
 * A document with a JSON Patch (RFC 6902) applied, as a new value. All of it is applied or nothing.
 *
 * @throws if an operation does not fit the document.
 */
export function applyPatch(document: unknown, patch: readonly unknown[]): unknown {
  let root = structuredClone(document);
  for (const operation of patch as { op: string; path: string; from?: string; value?: unknown }[]) {
    const { op, path, from, value } = operation;
    if (op === 'test') {
      if (JSON.stringify(read(root, path)) !== JSON.stringify(value)) throw misfit(path);
    } else if (op === 'remove') root = change(root, path, 'remove');
    else if (op === 'add' || op === 'replace') root = change(root, path, op, value);
    else if (op === 'copy') root = change(root, path, 'add', structuredClone(read(root, from as string)));
    else if (op === 'move') {
      const moved = read(root, from as string);
      root = change(change(root, from as string, 'remove'), path, 'add', moved);
    } else throw new Error(`unknown JSON Patch operation "${op}"`);
  }
  return root;
}

const misfit = (path: string) => new Error(`the JSON Patch does not fit the document at "${path}"`);

const tokens = (path: string): string[] => {
  if (path === '') return [];
  if (path?.[0] !== '/') throw misfit(path);
  return path.slice(1).split('/').map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
};

function read(root: unknown, path: string): unknown {
  return tokens(path).reduce((value, token) => {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, token)) throw misfit(path);
    return (value as Record<string, unknown>)[token];
  }, root);
}

function change(root: unknown, path: string, op: 'add' | 'replace' | 'remove', value?: unknown): unknown {
  const place = tokens(path);
  const last = place.pop();
  if (last === undefined) return op === 'remove' ? null : value;
  const parent = read(root, place.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''));
  if (typeof parent !== 'object' || parent === null) throw misfit(path);
  if (op !== 'add' && !Object.hasOwn(parent, last)) throw misfit(path);
  if (Array.isArray(parent)) {
    const at = last === '-' ? parent.length : Number(last);
    if (!/^(-|0|[1-9]\d*)$/.test(last) || at > parent.length) throw misfit(path);
    if (op === 'remove') parent.splice(at, 1);
    else parent.splice(at, op === 'add' ? 0 : 1, value);
  } else if (op === 'remove') delete (parent as Record<string, unknown>)[last];
  else Object.defineProperty(parent, last, { value, writable: true, enumerable: true, configurable: true });
  return root;
}
