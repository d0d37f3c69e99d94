import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { AgentWorkflow } from '../api';
import { plural } from '../format';
import { drawingOf, labelOf, NODE, type Drawing } from './drawing';
import type { Span } from './spans';
import { graphOf, type GraphEdge, type GraphNode } from './workflow';

/** A graph that is taller than this is shown around its current node, until a person asks for all of it. */
const TALLEST = 400;

interface Props {
  spans: readonly Span[];
  /** The workflow of the run, if the server lists it. */
  workflow: AgentWorkflow | undefined;
  picked: string | undefined;
  onPick: (key: string) => void;
}

/** The workflow of a run: its visited nodes, and where the run is. */
export function Graph({ spans, workflow, picked, onPick }: Props) {
  const graph = useMemo(() => graphOf(spans, workflow), [spans, workflow]);
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [isWhole, setWhole] = useState(false);
  const structure = `${graph.nodes.map(({ name }) => name).join('\n')}\n${graph.edges.map(({ from, to, when }) => `${from} ${to} ${when}`).join('\n')}`;
  // Its places stay while the run is active.
  const drawing = useMemo(() => drawingOf(graph, width), [structure, width]);
  const own = graph.nodes.filter(({ kind }) => kind === 'node');
  const isTall = drawing.height > TALLEST;
  const at = graph.current ? graph.nodes.indexOf(graph.current) : graph.nodes.findLastIndex(({ visits }) => visits > 0);
  useEffect(() => {
    const middle = drawing.boxes[at];
    if (isTall && !isWhole && middle) frame.current?.scrollTo({ top: middle.y - TALLEST / 2, left: middle.x - width / 2 });
  }, [at, drawing, isWhole]);
  if (own.length < (workflow ? 1 : 2)) return null;
  const visited = own.filter(({ visits, isPassed }) => visits > 0 || isPassed).length;
  return (
    <section class="graph" aria-label="Graph of the workflow">
      <p class="soft">
        {workflow ? `${visited} of ${plural(own.length, 'node')} visited` : `${plural(own.length, 'node')} visited`}
        {isTall && <button type="button" class="link" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>{isWhole ? 'Show a part' : 'Show all of it'}</button>}
      </p>
      <div class="canvas" ref={frame} style={{ maxHeight: isTall && !isWhole ? `${TALLEST}px` : 'none' }}>
        <svg viewBox={`0 0 ${drawing.width} ${drawing.height}`} style={{ width: `${drawing.shown}px` }} role="group" aria-label={`${plural(own.length, 'node')}: ${own.map(({ name }) => name).join(', ')}`}>
          <defs>{['arrow', 'arrow-taken'].map((id) => <marker key={id} id={id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 .5 7 4 0 7.5z" /></marker>)}</defs>
          {/* What was taken lies above the rest. */}
          {[false, true].map((taken) => graph.edges.map((edge, index) => edge.times > 0 === taken && <EdgeLine key={index} edge={edge} line={drawing.lines[index] ?? ''} />))}
          {graph.edges.map((edge, index) => <EdgeLabel key={index} edge={edge} place={drawing.labels[index]} />)}
          {graph.nodes.map((node, index) => (
            <NodeBox key={node.name} node={node} box={drawing.boxes[index]} isCurrent={node === graph.current} isWaiting={spans[0]?.state === 'waiting'} isPicked={node.span !== undefined && node.span.key === picked} onPick={onPick} />
          ))}
        </svg>
      </div>
    </section>
  );
}

/** The room that there is for the graph. */
function useWidth(frame: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(200, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [frame.current]);
  return width;
}

function EdgeLine({ edge, line }: { edge: GraphEdge; line: string }) {
  const isTaken = edge.times > 0;
  return <path class={`edge ${isTaken ? 'taken' : ''} ${edge.isGuess ? 'guess' : ''}`} d={line} marker-end={`url(#arrow${isTaken ? '-taken' : ''})`} />;
}

function EdgeLabel({ edge, place }: { edge: GraphEdge; place: Drawing['labels'][number] }) {
  const text = labelOf(edge);
  if (!text || !place) return null;
  return <text class={`edge-label ${edge.times > 0 ? 'taken' : ''}`} x={place.x} y={place.y + 3.5}>{text}<title>{edge.when}</title></text>;
}

interface BoxProps {
  node: GraphNode;
  box: Drawing['boxes'][number] | undefined;
  isCurrent: boolean;
  isWaiting: boolean;
  isPicked: boolean;
  onPick: (key: string) => void;
}

function NodeBox({ node, box, isCurrent, isWaiting, isPicked, onPick }: BoxProps) {
  if (!box) return null;
  const { name, kind, does, span, visits, isPassed } = node;
  if (kind !== 'node') {
    return (
      <g class="terminal" transform={`translate(${box.x} ${box.y})`}>
        <title>{kind === 'start' ? 'Start' : 'End'}</title>
        <circle r="6" />
        {kind === 'end' && <circle class="dot" r="2.5" />}
      </g>
    );
  }
  const state = isCurrent ? `current ${isWaiting ? 'waiting' : ''}` : (span?.state ?? (isPassed ? 'passed' : 'unvisited'));
  const press = () => span && onPick(span.key);
  const label = `${name}${does ? ` (${does})` : ''}, ${isCurrent ? 'current' : visits > 0 ? plural(visits, 'visit') : isPassed ? 'passed without records' : 'not visited'}`;
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    press();
  };
  const use = span ? { role: 'button' as const, tabindex: 0, 'aria-pressed': isPicked, onClick: press, onKeyDown: pressed } : { role: 'img' as const };
  const room = visits > 1 ? 12 : 15;
  return (
    <g class={`graph-node ${state} ${isPicked ? 'on' : ''}`} transform={`translate(${box.x - NODE.width / 2} ${box.y - NODE.height / 2})`} aria-current={isCurrent ? 'step' : undefined} aria-label={label} {...use}>
      <title>{label}</title>
      <rect width={NODE.width} height={NODE.height} rx="8" />
      <circle cx="14" cy={NODE.height / 2} r="3.5" />
      <text x="24" y={NODE.height / 2 + 4}>{name.length > room ? `${name.slice(0, room - 1)}…` : name}</text>
      {visits > 1 && <text class="visits" x={NODE.width - 9} y={NODE.height / 2 + 4} text-anchor="end">{visits}×</text>}
    </g>
  );
}
