// A workflow as a run went through it: the nodes and edges that the server lists, and what of them the records show.

import type { AgentWorkflow } from '../api';
import type { Span } from './spans';

export interface GraphNode {
  name: string;
  /** `start` and `end` are no nodes of the agent. */
  kind: 'node' | 'start' | 'end';
  /** What it does, if it is of a file: `reason`, `interrupt` and so on. */
  does?: string | undefined;
  /** The span of its last visit. */
  span?: Span;
  visits: number;
  /** The run must have been there, although no record is of it. */
  isPassed?: boolean;
}

export interface GraphEdge {
  /** The places of its nodes. */
  from: number;
  to: number;
  /** The condition on which it is followed. */
  when?: string;
  /** How often the run went there. */
  times: number;
  /** The records leave open whether the run went there, or the server does not list it: after a failure, or in another workflow. */
  isGuess?: boolean;
}

export interface WorkflowGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** The node of the last visit, until the run ends. */
  current: GraphNode | undefined;
}

const START = '\0start';
const END = '\0end';

/** The whole workflow, if it is the one of these visits; otherwise the nodes that were visited. */
export function graphOf(spans: readonly Span[], workflow: AgentWorkflow | undefined): WorkflowGraph {
  const run = spans[0];
  const visits = spans.filter(({ kind }) => kind === 'node').sort((a, b) => a.from - b.from || (a.records[0] ?? 0) - (b.records[0] ?? 0));
  const isKnown = workflow && (visits.length === 0 || visits.some(({ label }) => workflow.nodes.some(({ name }) => name === label)));
  const graph: WorkflowGraph = isKnown ? listed(workflow) : { nodes: [], edges: [], current: undefined };
  const { nodes, edges } = graph;
  const placeOf = (name: string) => {
    const found = nodes.findIndex((node) => node.name === name);
    return found >= 0 ? found : nodes.push({ name, kind: 'node', visits: 0 }) - 1;
  };
  /** The order of the last visit of each node, by its place. */
  const seen = new Map<number, number>();
  let last = isKnown ? placeOf(START) : -1;
  if (last >= 0) seen.set(last, 0);
  const arrive = (to: number, order: number) => {
    const before = cameFrom(edges, seen, to);
    for (const from of before) goesTo(edges, from, to);
    if (before.length === 0 && last >= 0 && !(isKnown && pass(graph, seen, to, order))) goesTo(edges, last, to, isKnown);
    seen.set(to, order);
    last = to;
  };
  visits.forEach((span, at) => {
    const place = placeOf(span.label);
    const node = nodes[place] as GraphNode;
    node.visits += 1;
    node.span = span;
    arrive(place, at + 1);
  });
  const hasEnded = run?.to !== undefined;
  graph.current = hasEnded || visits.length === 0 ? undefined : nodes[last];
  if (isKnown && hasEnded && run.state === 'good') arrive(placeOf(END), visits.length + 1);
  return graph;
}

function goesTo(edges: GraphEdge[], from: number, to: number, isGuess = false): void {
  const edge = edges.find((edge) => edge.from === from && edge.to === to);
  if (edge) edge.times += 1;
  else edges.push({ from, to, times: 1, ...(isGuess && { isGuess }) });
}

/** Continues from the latest node that leads there, through nodes of which there are no records. False if there is no such way. */
function pass({ nodes, edges }: WorkflowGraph, seen: Map<number, number>, to: number, order: number): boolean {
  const listed = edges.filter(({ isGuess, times }) => !isGuess || times === 0);
  for (const [from] of [...seen].sort(([, one], [, other]) => other - one)) {
    const way = shortestWay(listed, from, to);
    if (!way) continue;
    for (const edge of way) {
      edge.times += 1;
      edge.isGuess = shortestWay(listed.filter((other) => other !== edge), from, to) !== undefined;
    }
    way.slice(1).forEach(({ from: between }, at) => {
      seen.set(between, order - 1 + (at + 1) / (way.length + 1));
      (nodes[between] as GraphNode).isPassed = shortestWay(listed.filter((edge) => edge.from !== between), from, to) === undefined;
    });
    return true;
  }
  return false;
}

function shortestWay(edges: readonly GraphEdge[], from: number, to: number): GraphEdge[] | undefined {
  const ways = new Map<number, GraphEdge[]>([[from, []]]);
  // The loop reads entries that it adds.
  for (const [at, way] of ways) {
    for (const edge of edges) {
      if (edge.from !== at) continue;
      if (edge.to === to) return [...way, edge];
      if (!ways.has(edge.to)) ways.set(edge.to, [...way, edge]);
    }
  }
  return undefined;
}

function listed(workflow: AgentWorkflow): WorkflowGraph {
  const names = [START, ...workflow.nodes.map(({ name }) => name), END];
  const kindOf = (name: string) => (name === START ? 'start' : name === END ? 'end' : 'node');
  const edges = workflow.edges.map(({ from, to, when }) => ({
    from: names.indexOf(from ?? START),
    to: names.indexOf(to ?? END),
    ...(when !== null && { when }),
    times: 0,
  }));
  // A node without edges is an end too.
  const last = names.length - 1;
  names.forEach((_, from) => from < last && !edges.some((edge) => edge.from === from) && edges.push({ from, to: last, times: 0 }));
  const does = new Map(workflow.nodes.map(({ name, kind }) => [name, kind ?? undefined]));
  return {
    nodes: names.map((name) => ({ name, kind: kindOf(name), does: does.get(name), visits: 0 })),
    edges: edges.filter(({ from, to }) => from >= 0 && to >= 0),
    current: undefined,
  };
}

/**
 * The nodes from which a visit came. The records name none: it is the one that was visited last of those with an edge to it, and,
 * where branches meet, those that led nowhere else since.
 */
function cameFrom(edges: readonly GraphEdge[], seen: ReadonlyMap<number, number>, place: number): number[] {
  const order = (at: number) => seen.get(at) ?? -1;
  const candidates = [...new Set(edges.filter(({ to, isGuess, times }) => to === place && !(isGuess && times > 0)).map(({ from }) => from))].filter((from) => seen.has(from));
  const latest = Math.max(...candidates.map(order));
  const wasLeft = (from: number) => edges.some((edge) => edge.from === from && order(edge.to) > order(from));
  return candidates.filter((from) => order(from) === latest || (order(from) > order(place) && !wasLeft(from)));
}
