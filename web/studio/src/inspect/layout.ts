// Places for the nodes of a graph: in layers, so that edges lead from layer to layer, with few crossings.

/** A box to place. Along is the direction in which the layers follow one another, across the one in which a layer lies. */
export interface Shape {
  along: number;
  across: number;
}

export interface Link {
  from: number;
  to: number;
  /** The room that its label needs across. */
  label: number;
}

export interface Place {
  along: number;
  across: number;
  /** Half of its layer, along. */
  half: number;
}

export interface Layout {
  /** The middle of each shape. */
  places: Place[];
  /** The points of each link: through the gaps between other shapes. One that leads back has none. */
  routes: (Place[] | undefined)[];
  along: number;
  across: number;
}

interface Item {
  /** The shape; a point of a link has none. */
  shape?: number;
  size: number;
  layer: number;
  at: number;
  before: Item[];
  after: Item[];
}

const SWEEPS = 12;

interface Options {
  /** Between layers. */
  gap: number;
  /** Between the shapes of a layer. */
  space: number;
  /** The shape that comes last. */
  end: number | undefined;
}

/** The first shape is where the graph begins. */
export function layoutOf(shapes: readonly Shape[], links: readonly Link[], { gap, space, end }: Options): Layout {
  const isBack = linksBack(shapes.length, links);
  const layerOf = layersOf(shapes.length, links.filter((_, at) => !isBack[at]), end);
  const items = shapes.map(({ across }, shape): Item => ({ shape, size: across, layer: layerOf[shape] ?? 0, at: 0, before: [], after: [] }));
  const layers: Item[][] = [];
  for (const item of items) (layers[item.layer] ??= []).push(item);
  const chains = links.map(({ from, to, label }, at) => {
    if (isBack[at]) return undefined;
    const [first, last] = [items[from] as Item, items[to] as Item];
    const chain = [first];
    for (let layer = first.layer + 1; layer < last.layer; layer += 1) {
      const point: Item = { size: layer === first.layer + 1 ? Math.max(12, label) : 12, layer, at: 0, before: [], after: [] };
      (layers[layer] ??= []).push(point);
      chain.push(point);
    }
    chain.push(last);
    chain.slice(1).forEach((item, index) => {
      item.before.push(chain[index] as Item);
      chain[index]?.after.push(item);
    });
    return chain;
  });
  order(layers);
  align(layers, space);
  const least = Math.min(...layers.flat().map(({ at, size }) => at - size / 2));
  const most = Math.max(...layers.flat().map(({ at, size }) => at + size / 2));
  let along = 0;
  const middles = layers.map((layer) => {
    const half = Math.max(...layer.map(({ shape }) => (shape === undefined ? 0 : (shapes[shape]?.along ?? 0)))) / 2;
    const middle = along + half;
    along += 2 * half + gap;
    return { along: middle, half };
  });
  const placeOf = (item: Item): Place => ({ ...(middles[item.layer] as { along: number; half: number }), across: item.at - least });
  return { places: items.map(placeOf), routes: chains.map((chain) => chain?.map(placeOf)), along: along - gap, across: most - least };
}

/** Which links lead back to where a way came from, or to the same shape. */
function linksBack(count: number, links: readonly Link[]): boolean[] {
  const isBack = links.map(() => false);
  const states = new Array<'open' | 'done' | undefined>(count);
  const visit = (shape: number) => {
    states[shape] = 'open';
    links.forEach(({ from, to }, at) => {
      if (from !== shape) return;
      if (states[to] === 'open') isBack[at] = true;
      else if (!states[to]) visit(to);
    });
    states[shape] = 'done';
  };
  for (let shape = 0; shape < count; shape += 1) if (!states[shape]) visit(shape);
  return isBack;
}

/** Each shape one layer behind the last of those before it. */
function layersOf(count: number, links: readonly Link[], end: number | undefined): number[] {
  // What no link leads to is beside what the start leads to.
  const layers: number[] = Array.from({ length: count }, (_, shape) => (shape > 0 && !links.some(({ to }) => to === shape) ? 1 : 0));
  for (let pass = 0; pass < count; pass += 1) {
    for (const { from, to } of links) layers[to] = Math.max(layers[to] ?? 0, (layers[from] ?? 0) + 1);
  }
  if (end !== undefined) layers[end] = Math.max(...layers.filter((_, shape) => shape !== end)) + 1;
  return layers;
}

const mean = (items: readonly Item[]) => items.reduce((sum, { at }) => sum + at, 0) / items.length;

/** Sorts each layer by where its neighbours are. */
function order(layers: Item[][]): void {
  for (const layer of layers) layer.forEach((item, at) => (item.at = at));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : [...layers].reverse()) {
      const wanted = new Map(layer.map((item) => [item, (isDown ? item.before : item.after).length > 0 ? mean(isDown ? item.before : item.after) : item.at]));
      layer.sort((one, other) => (wanted.get(one) ?? 0) - (wanted.get(other) ?? 0));
      layer.forEach((item, at) => (item.at = at));
    }
  }
}

/** Moves the items of each layer as near to their neighbours as their sizes allow. */
function align(layers: Item[][], space: number): void {
  for (let sweep = 0; sweep < 3 * SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : [...layers].reverse()) {
      // At last both sides count.
      const beside = ({ before, after }: Item) => (sweep >= SWEEPS ? [...before, ...after] : isDown ? before : after);
      spread(layer, layer.map((item) => pull(item, beside(item))), space);
    }
  }
}

/** Where an item is drawn to. Links that go past layers are to be straight. */
function pull(item: Item, beside: readonly Item[]): number {
  const weight = (other: Item) => [1, 2, 8][Number(item.shape === undefined) + Number(other.shape === undefined)] ?? 1;
  const sum = beside.reduce((all, other) => all + weight(other), 0);
  return sum === 0 ? item.at : beside.reduce((all, other) => all + other.at * weight(other), 0) / sum;
}

/** The places nearest to the wanted ones at which nothing overlaps. Those that would are moved together, as one block. */
function spread(layer: Item[], wanted: number[], space: number): void {
  const offsets: number[] = [];
  layer.forEach(({ size }, at) => offsets.push(at === 0 ? 0 : (offsets[at - 1] as number) + ((layer[at - 1] as Item).size + size) / 2 + space));
  const blocks: { sum: number; count: number }[] = [];
  wanted.forEach((place, at) => {
    let block = { sum: place - (offsets[at] as number), count: 1 };
    for (let last = blocks.at(-1); last && last.sum / last.count > block.sum / block.count; last = blocks.at(-1)) {
      block = { sum: last.sum + block.sum, count: last.count + block.count };
      blocks.pop();
    }
    blocks.push(block);
  });
  const bases = blocks.flatMap(({ sum, count }) => new Array<number>(count).fill(sum / count));
  layer.forEach((item, at) => (item.at = (bases[at] as number) + (offsets[at] as number)));
}
