// The lines and boxes of a graph. Its layers lie side by side where there is room for it, and below one another otherwise.

import { layoutOf, type Layout, type Place, type Shape } from './layout';
import type { GraphEdge, WorkflowGraph } from './workflow';

export const NODE = { width: 132, height: 30 };
const TERMINAL = 14;
/** Around the whole. */
const MARGIN = 4;
/** An arrow ends before the border. */
const TIP = 2;
const CORNER = 9;
/** How far a line that leads back is from the nodes. */
const LANE = 18;
/** The smallest scale at which texts are readable. */
const LEAST_SCALE = 0.85;

interface Point {
  x: number;
  y: number;
}

export interface Drawing {
  width: number;
  height: number;
  /** How wide it is on the page. */
  shown: number;
  /** The middle of each node. */
  boxes: Point[];
  /** The path of each edge, and where its label is. */
  lines: string[];
  labels: (Point | undefined)[];
}

/** The condition of an edge, and how often it was taken if that is more than once. */
export function labelOf({ when, times }: GraphEdge): string {
  const condition = when !== undefined && when.length > 18 ? `${when.slice(0, 17)}…` : (when ?? '');
  return times > 1 ? `${condition} ${times}×`.trim() : condition;
}

/** About as wide as the text is drawn. */
const widthOf = (edge: GraphEdge) => (edge.when === undefined ? 0 : Math.min(18, edge.when.length) * 6.2 + 22);

export function drawingOf(graph: WorkflowGraph, room: number): Drawing {
  const flat = draw(graph, true);
  const drawing = flat.width * LEAST_SCALE <= room ? flat : draw(graph, false);
  return { ...drawing, shown: drawing.width * LEAST_SCALE <= room ? Math.min(drawing.width, room) : drawing.width };
}

function draw({ nodes, edges }: WorkflowGraph, isFlat: boolean): Omit<Drawing, 'shown'> {
  const shapes = nodes.map(({ kind }): Shape => {
    if (kind !== 'node') return { along: TERMINAL, across: TERMINAL };
    return isFlat ? { along: NODE.width, across: NODE.height } : { along: NODE.height, across: NODE.width };
  });
  const widest = Math.max(0, ...edges.map(widthOf));
  const gap = isFlat ? Math.max(36, widest + 14) : widest > 0 ? 42 : 30;
  const end = nodes.findIndex(({ kind }) => kind === 'end');
  // What the run did beside the workflow is drawn over it.
  const links = edges.map((edge) => ({ from: edge.from, to: edge.to, label: isFlat ? (edge.when ? 18 : 0) : widthOf(edge) }));
  const layout = layoutOf(shapes, links, { gap, space: isFlat ? 20 : 26, end: end < 0 ? undefined : end });
  const lanes = new Lanes(layout, shapes, isFlat);
  const drawn = edges.map((edge, at) => {
    const route = layout.routes[at];
    const [from, to] = [shapes[edge.from] as Shape, shapes[edge.to] as Shape];
    if (route) return forward(route, from.along / 2, to.along / 2, isFlat);
    return lanes.back(edge.from, edge.to, widthOf(edge));
  });
  const put = ({ along, across }: { along: number; across: number }): Point => {
    const [x, y] = isFlat ? [along, across - lanes.least] : [across - lanes.least, along];
    return { x: x + MARGIN, y: y + MARGIN };
  };
  const path = (points: (string | { along: number; across: number })[]) =>
    points.map((point) => (typeof point === 'string' ? point : `${round(put(point).x)} ${round(put(point).y)}`)).join(' ');
  const [along, across] = [layout.along + 2 * MARGIN, lanes.most - lanes.least + 2 * MARGIN];
  return {
    width: isFlat ? along : across,
    height: isFlat ? across : along,
    boxes: layout.places.map(put),
    lines: drawn.map(({ points }) => path(points)),
    labels: drawn.map(({ label }) => put(label)),
  };
}

const round = (number: number) => Math.round(number * 10) / 10;

interface Line {
  /** Letters of a path and its points. */
  points: (string | { along: number; across: number })[];
  label: { along: number; across: number };
}

/** From layer to layer: straight through each, and curved between them. */
function forward(route: readonly Place[], begin: number, end: number, isFlat: boolean): Line {
  const [first, second] = [route[0] as Place, route[1] as Place];
  const points: Line['points'] = ['M', { along: first.along + begin, across: first.across }];
  route.forEach((place, at) => {
    const next = route[at + 1];
    if (!next) return;
    const [from, to] = [place.along + place.half, next.along - next.half];
    const middle = (from + to) / 2;
    points.push('L', { along: from, across: place.across }, 'C', { along: middle, across: place.across }, { along: middle, across: next.across });
    if (at < route.length - 2) points.push({ along: to, across: next.across }, 'L', { along: next.along + next.half, across: next.across });
    // A line without a length has no direction for its arrow.
    else if (next.half > end) points.push({ along: to, across: next.across }, 'L', { along: next.along - end - TIP, across: next.across });
    else points.push({ along: to - TIP, across: next.across });
  });
  // Nearer to where the edge leads, where those of one node are apart.
  const [share, bend] = isFlat ? [0.5, 0.5] : [0.576, 0.648];
  const [from, to] = [first.along + first.half, second.along - second.half];
  return { points, label: { along: from + (to - from) * share, across: first.across + (second.across - first.across) * bend } };
}

/** Lines that lead back, beside everything between their ends. */
class Lanes {
  least = 0;
  most: number;
  #used: { from: number; to: number; at: number }[] = [];

  constructor(
    readonly layout: Layout,
    readonly shapes: readonly Shape[],
    readonly isFlat: boolean,
  ) {
    this.most = layout.across;
  }

  back(from: number, to: number, label: number): Line {
    const [start, end] = [this.layout.places[from] as Place, this.layout.places[to] as Place];
    const [first, last] = [Math.min(start.along, end.along), Math.max(start.along, end.along)];
    const between = ({ along }: Place) => along >= first && along <= last;
    const edges = this.layout.places.flatMap((place, at) => (between(place) ? [place.across + (this.shapes[at] as Shape).across / 2] : []));
    const points = this.layout.routes.flatMap((route) => (route ?? []).filter(between).map(({ across }) => across + 6));
    const taken = this.#used.filter((lane) => lane.from <= last && lane.to >= first).map(({ at }) => at);
    // A label is drawn on its line.
    const half = this.isFlat ? 0 : label / 2;
    const lane = Math.max(...edges, ...points, ...taken) + LANE + Math.max(0, half - 8);
    this.#used.push({ from: first, to: last, at: lane + half });
    this.most = Math.max(this.most, lane + Math.max(8, half));
    const side = (shape: number) => (this.layout.places[shape] as Place).across + (this.shapes[shape] as Shape).across / 2;
    const apart = from === to ? 7 : 4;
    const [down, up] = [start.along + apart, end.along - apart];
    const corner = Math.min(CORNER, Math.abs(down - up) / 2);
    return {
      points: [
        'M', { along: down, across: side(from) },
        'L', { along: down, across: lane - corner },
        'Q', { along: down, across: lane }, { along: down - corner, across: lane },
        'L', { along: up + corner, across: lane },
        'Q', { along: up, across: lane }, { along: up, across: lane - corner },
        'L', { along: up, across: side(to) + TIP },
      ],
      label: { along: (down + up) / 2, across: lane },
    };
  }
}
