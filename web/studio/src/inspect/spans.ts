import type { NativeRecord, Usage } from '@headwater/client';
import type { IconName } from '../icon';

export type SpanKind = 'run' | 'node' | 'model' | 'tool' | 'wait';

/** Something of a run that takes time. */
export interface Span {
  key: string;
  kind: SpanKind;
  label: string;
  detail: string;
  depth: number;
  from: number;
  /** Absent while it is active. */
  to?: number;
  state: 'active' | 'good' | 'bad' | 'waiting';
  error?: string;
  usage?: Usage;
  /** When the first piece of a model's answer was there. */
  firstOutput?: number;
  /** The records that belong to it, by their place. */
  records: number[];
}

export const ICONS: Record<SpanKind, IconName> = { run: 'flag', node: 'node', model: 'model', tool: 'tool', wait: 'clock' };

/** The spans of a run, in the order in which they began, each below the one that it belongs to. */
export function spansOf(records: readonly NativeRecord[]): Span[] {
  const spans = new Map<string, Span>();
  const children = new Map<string, string[]>();
  let last = 0;
  let held: { node?: string | undefined; visit?: number; branch?: NativeRecord['branch']; span?: Span | undefined } = {};

  const open = (key: string, parent: string | undefined, span: Omit<Span, 'key' | 'depth' | 'records' | 'state' | 'detail'> & { detail?: string; state?: Span['state'] }): Span => {
    const known = spans.get(key);
    if (known) return known;
    const made: Span = { detail: '', state: 'active', ...span, key, depth: parent ? (spans.get(parent)?.depth ?? 0) + 1 : 0, records: [] };
    spans.set(key, made);
    if (parent) children.get(parent)?.push(key) ?? children.set(parent, [key]);
    return made;
  };
  const close = (span: Span | undefined, time: number, state: Span['state'] = 'good', error?: string) => {
    if (!span || span.to !== undefined) return;
    span.to = time;
    span.state = state;
    if (error) span.error = error;
  };

  records.forEach((record, at) => {
    const { event, node, visit = 1, operation } = record;
    const time = record.time ?? last;
    last = Math.max(last, time);
    const run = open('run', undefined, { kind: 'run', label: 'run', from: time });
    run.records.push(at);
    // Most records are of the node of the record before.
    if (at === 0 || node !== held.node || visit !== held.visit || record.branch !== held.branch) {
      const key = node && `node ${node} ${visit} ${record.branch ?? ''}`;
      held = { node, visit, branch: record.branch, span: key ? open(key, 'run', { kind: 'node', label: node, detail: visit > 1 ? `visit ${visit}` : '', from: time }) : undefined };
    }
    const inNode = held.span;
    const nodeKey = inNode?.key;
    if (inNode) {
      inNode.records.push(at);
      if (inNode.to === undefined || inNode.state === 'good') inNode.to = time;
      inNode.state = 'good';
    }
    const attemptKey = (attempt: string) => `model ${operation ?? node ?? ''} ${attempt}`;
    const inAttempt = record.attempt ? spans.get(attemptKey(record.attempt)) : undefined;
    if (inAttempt) {
      inAttempt.records.push(at);
      if (/^(block|tool-input|structured|file|source)/.test(event.type)) inAttempt.firstOutput ??= time;
      if (event.type === 'usage') inAttempt.usage = event;
    }
    const own = (span: Span | undefined) => {
      if (span && span !== inAttempt) span.records.push(at);
      return span;
    };
    switch (event.type) {
      case 'run-started':
        run.label = event.workflow ?? 'run';
        run.detail = event.model ?? '';
        break;
      case 'run-finished':
      case 'run-waiting':
        if (event.usage) run.usage = event.usage;
        if (event.type === 'run-finished') close(run, time);
        else {
          run.state = 'waiting';
          for (const call of event.toolCalls ?? []) {
            const tool = spans.get(`tool ${call}`);
            if (tool) tool.state = 'waiting';
          }
        }
        break;
      case 'run-failed':
        close(run, time, 'bad', event.message);
        break;
      case 'run-cancelled':
        close(run, time, 'bad', event.reason ?? 'stopped');
        break;
      case 'attempt-started':
        own(open(attemptKey(event.attempt), nodeKey ?? 'run', { kind: 'model', label: event.model ?? 'model', detail: event.attempt, from: time }));
        break;
      case 'attempt-finished':
        close(own(spans.get(attemptKey(event.attempt))), time);
        break;
      case 'attempt-retracted':
        close(own(spans.get(attemptKey(event.attempt))), time, 'bad', event.reason ?? 'retracted');
        break;
      case 'tool-input-start':
      case 'tool-input-available':
        own(open(`tool ${event.call}`, nodeKey ?? 'run', { kind: 'tool', label: event.title ?? event.name, detail: event.title ? event.name : '', from: time }));
        break;
      case 'tool-input-delta':
        own(spans.get(`tool ${event.call}`));
        break;
      case 'tool-output':
        if (!event.preliminary) close(own(spans.get(`tool ${event.call}`)), time, event.isError ? 'bad' : 'good', event.isError ? 'the tool reports a failure' : undefined);
        break;
      case 'tool-output-error':
      case 'tool-input-error':
        close(own(spans.get(`tool ${event.call}`)), time, 'bad', event.error);
        break;
      case 'tool-denied':
        close(own(spans.get(`tool ${event.call}`)), time, 'bad', event.reason ?? 'not allowed');
        break;
      case 'approval-requested':
        own(open(`wait ${event.approval}`, spans.has(`tool ${event.call}`) ? `tool ${event.call}` : (nodeKey ?? 'run'), { kind: 'wait', label: 'approval', detail: event.name, from: time, state: 'waiting' }));
        break;
      case 'approval-answered':
        close(own(spans.get(`wait ${event.approval}`)), time, event.approved ? 'good' : 'bad', event.approved ? undefined : (event.reason ?? 'refused'));
        if (run.state === 'waiting') run.state = 'active';
        break;
      case 'interrupt-requested':
        own(open(`wait ${event.request}`, nodeKey ?? 'run', { kind: 'wait', label: 'question', detail: event.question ?? '', from: time, state: 'waiting' }));
        break;
      case 'interrupt-answered':
        close(own(spans.get(`wait ${event.request}`)), time);
        if (run.state === 'waiting') run.state = 'active';
        break;
      case 'interrupt-expired':
        close(own(spans.get(`wait ${event.request}`)), time, 'bad', 'no answer came in time');
        break;
    }
  });
  // What was open when the run ended ended with it.
  const end = spans.get('run')?.to;
  if (end !== undefined) for (const span of spans.values()) if (span.to === undefined) Object.assign(span, { to: end, state: 'bad', error: 'ended with the run' });
  const ordered: Span[] = [];
  const visit = (key: string) => {
    const span = spans.get(key);
    if (span) ordered.push(span);
    children.get(key)?.forEach(visit);
  };
  visit('run');
  return ordered;
}

/**
 * A scale from times to 0–1 on which long silences are short: a person who took an hour to answer leaves the rest
 * readable.
 */
export function timeScale(records: readonly NativeRecord[]): { place: (time: number) => number; cuts: { at: number; lasted: number }[] } {
  let times: number[] = [];
  let isSorted = true;
  for (const { time } of records) {
    const before = times.at(-1);
    if (time === undefined || time === before) continue;
    isSorted &&= before === undefined || before < time;
    times.push(time);
  }
  // The clock of a server may be behind that of the one before.
  if (!isSorted) times = [...new Set(times.sort((a, b) => a - b))];
  const gaps = times.slice(1).map((time, at) => time - (times[at] as number));
  const active = gaps.filter((gap) => gap <= 2000).reduce((sum, gap) => sum + gap, 0);
  const limit = Math.max(400, active * 0.15);
  const places: number[] = [0];
  const cuts: { at: number; lasted: number }[] = [];
  gaps.forEach((gap, at) => {
    const before = places[at] as number;
    const width = gap > 2000 ? Math.min(gap, limit) : gap;
    if (width < gap) cuts.push({ at: before + width / 2, lasted: gap });
    places.push(before + width);
  });
  const whole = places.at(-1) || 1;
  return {
    place: (time) => {
      let [low, high] = [0, times.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((times[middle] as number) <= time) low = middle + 1;
        else high = middle;
      }
      return low === 0 ? 0 : (places[low - 1] as number) / whole;
    },
    cuts: cuts.map(({ at, lasted }) => ({ at: at / whole, lasted })),
  };
}
