/** A piece of a text, and whether it differs from the text before. */
export interface Piece {
  text: string;
  isChanged: boolean;
  isType: boolean;
}

interface Leaf {
  path: string;
  from: number;
  to: number;
}

/**
 * The pieces of a JSON text, with those values marked that the JSON text before had not. Of a string that grew, the new end is
 * marked. An event of another type is another thing, so only its type is marked.
 */
export function changesOf(now: string, before: string | undefined): Piece[] {
  const leaves = leavesOf(now);
  const known = before === undefined ? undefined : new Map(leavesOf(before).map(({ path, from, to }) => [path, before.slice(from, to)]));
  const isType = ({ path }: Leaf) => /(^|\.)"type"$/.test(path);
  const isOther = known !== undefined && leaves.some((leaf) => isType(leaf) && known.get(leaf.path) !== now.slice(leaf.from, leaf.to));
  const pieces: Piece[] = [];
  let end = 0;
  const add = (to: number, isChanged: boolean, type = false) => {
    if (to > end) pieces.push({ text: now.slice(end, to), isChanged, isType: type });
    end = to;
  };
  for (const leaf of leaves) {
    const value = now.slice(leaf.from, leaf.to);
    const old = known?.get(leaf.path);
    const type = isType(leaf);
    const isChanged = known !== undefined && old !== value && (type || !isOther);
    if (!isChanged && !type) continue;
    add(leaf.from, false);
    // `"Hel"` that became `"Hello"`: the old text without its closing quote.
    const grown = old?.startsWith('"') && old.length > 2 && value.startsWith(old.slice(0, -1)) ? old.length - 1 : 0;
    if (isChanged && grown > 0) add(leaf.from + grown, false, type);
    add(leaf.to, isChanged, type);
  }
  add(now.length, false);
  return pieces;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Where the values of a JSON text are, by their path. */
function leavesOf(text: string): Leaf[] {
  const leaves: Leaf[] = [];
  const stack: { isArray: boolean; key: string; index: number; awaitsKey: boolean }[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const [token] = match;
    const top = stack.at(-1);
    if (token === '{' || token === '[') stack.push({ isArray: token === '[', key: '', index: 0, awaitsKey: token === '{' });
    else if (token === '}' || token === ']') stack.pop();
    else if (token === ',') {
      if (top) Object.assign(top, { index: top.index + 1, awaitsKey: !top.isArray });
    } else if (token === ':') continue;
    else if (top?.awaitsKey) Object.assign(top, { key: token, awaitsKey: false });
    else leaves.push({ path: stack.map(({ isArray, key, index }) => (isArray ? index : key)).join('.'), from: match.index, to: match.index + token.length });
  }
  return leaves;
}
