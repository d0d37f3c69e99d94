import { plural } from '../format';
import type { Span } from './spans';

interface GraphNode {
  name: string;
  /** The span of its last visit. */
  span: Span;
  visits: number;
}

interface Graph {
  nodes: GraphNode[];
  /** From node to node, by their places, and how often the run went there. */
  edges: { from: number; to: number; times: number }[];
}

/** The nodes that a run visited, in the order of their first visit, and the ways that it took. */
export function graphOf(spans: readonly Span[]): Graph {
  const visits = spans.filter(({ kind }) => kind === 'node').sort((a, b) => a.from - b.from || (a.records[0] ?? 0) - (b.records[0] ?? 0));
  const nodes: GraphNode[] = [];
  const edges: Graph['edges'] = [];
  let last = -1;
  for (const span of visits) {
    let at = nodes.findIndex(({ name }) => name === span.label);
    if (at < 0) at = nodes.push({ name: span.label, span, visits: 0 }) - 1;
    const node = nodes[at] as GraphNode;
    node.visits += 1;
    node.span = span;
    if (last >= 0) {
      const edge = edges.find(({ from, to }) => from === last && to === at);
      if (edge) edge.times += 1;
      else edges.push({ from: last, to: at, times: 1 });
    }
    last = at;
  }
  return { nodes, edges };
}

const WIDTH = 132;
const HEIGHT = 34;
const GAP = 44;
const PER_ROW = 4;
const ROW_GAP = 52;

/** The way of the run through its workflow. */
export function Graph({ spans, isEnded, picked, onPick }: { spans: readonly Span[]; isEnded: boolean; picked: string | undefined; onPick: (key: string) => void }) {
  const { nodes, edges } = graphOf(spans);
  if (nodes.length < 2) return null;
  const current = isEnded ? undefined : nodes.reduce((last, node) => (node.span.from >= last.span.from ? node : last));
  const columns = Math.min(nodes.length, PER_ROW);
  const rows = Math.ceil(nodes.length / PER_ROW);
  // Lines over and under the boxes need room.
  const above = edges.some(({ from, to }) => to === from || to > from + 1) ? 26 : 4;
  const below = edges.some(({ from, to }) => to < from) ? 28 : 6;
  const place = (at: number) => ({ x: 2 + (at % PER_ROW) * (WIDTH + GAP), y: above + Math.floor(at / PER_ROW) * (HEIGHT + ROW_GAP) });
  const width = 4 + columns * WIDTH + (columns - 1) * GAP;
  const height = above + below + rows * HEIGHT + (rows - 1) * ROW_GAP;
  return (
    <section class="graph" aria-label="Graph of the workflow">
      <svg viewBox={`0 0 ${width} ${height}`} style={{ maxWidth: `${width}px` }} role="group" aria-label={`${plural(nodes.length, 'node')}: ${nodes.map(({ name }) => name).join(', ')}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 .5 7 4 0 7.5z" /></marker>
        </defs>
        {edges.map(({ from, to, times }) => {
          const path = wayOf(place(from), place(to));
          return (
            <g key={`${from} ${to}`} class="edge">
              <path d={path.line} marker-end="url(#arrow)" />
              {times > 1 && <text x={path.middle.x} y={path.middle.y}>{times}×</text>}
            </g>
          );
        })}
        {nodes.map((node, at) => {
          const { x, y } = place(at);
          const { span } = node;
          const state = node === current ? 'current' : span.state;
          const press = () => onPick(span.key);
          return (
            <g
              key={node.name}
              class={`graph-node ${state} ${span.key === picked ? 'on' : ''}`}
              transform={`translate(${x} ${y})`}
              role="button"
              tabindex={0}
              aria-pressed={span.key === picked}
              aria-current={node === current ? 'step' : undefined}
              aria-label={`${node.name}, ${node === current ? 'current' : plural(node.visits, 'visit')}`}
              onClick={press}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' && event.key !== ' ') return;
                event.preventDefault();
                press();
              }}
            >
              <rect width={WIDTH} height={HEIGHT} rx="8" />
              <circle cx="15" cy={HEIGHT / 2} r="3.5" />
              <text x="26" y={HEIGHT / 2 + 4}>{node.name.length > 15 ? `${node.name.slice(0, 14)}…` : node.name}</text>
              {node.visits > 1 && <text class="visits" x={WIDTH - 9} y={HEIGHT / 2 + 4} text-anchor="end">{node.visits}×</text>}
            </g>
          );
        })}
      </svg>
    </section>
  );
}

interface Point {
  x: number;
  y: number;
}

/** A line from box to box: straight to the next one, an arc over what lies between, a loop to itself. */
function wayOf(from: Point, to: Point): { line: string; middle: Point } {
  const y = from.y + HEIGHT / 2;
  if (from.x === to.x && from.y === to.y) {
    const x = from.x + WIDTH / 2;
    return { line: `M${x - 14} ${from.y}c-6-22 34-22 28 0`, middle: { x, y: from.y - 18 } };
  }
  if (from.y === to.y && to.x - from.x === WIDTH + GAP) {
    return { line: `M${from.x + WIDTH} ${y}H${to.x - 2}`, middle: { x: from.x + WIDTH + GAP / 2, y: y - 6 } };
  }
  if (from.y === to.y) {
    const [a, b] = [from.x + WIDTH / 2, to.x + WIDTH / 2];
    const isBack = to.x < from.x;
    const edge = isBack ? from.y + HEIGHT : from.y;
    const bend = isBack ? edge + 20 : edge - 20;
    return { line: `M${a} ${edge}C${a} ${bend} ${b} ${bend} ${b} ${edge + (isBack ? 2 : -2)}`, middle: { x: (a + b) / 2, y: bend + (isBack ? 2 : 4) } };
  }
  const [a, b] = [from.x + WIDTH / 2, to.x + WIDTH / 2];
  const isDown = to.y > from.y;
  const [start, end] = isDown ? [from.y + HEIGHT, to.y - 2] : [from.y, to.y + HEIGHT + 2];
  const middle = (start + end) / 2;
  return { line: `M${a} ${start}C${a} ${middle} ${b} ${middle} ${b} ${end}`, middle: { x: (a + b) / 2, y: middle } };
}
