import type { NativeRecord, Usage } from '@headwater/client';
import type { TraceStep } from '../api';
import type { IconName } from '../icon';

export type SpanKind = 'run' | 'node' | 'model' | 'tool' | 'wait' | 'away';

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

export const ICONS: Record<SpanKind, IconName> = { run: 'flag', node: 'node', model: 'model', tool: 'tool', wait: 'clock', away: 'again' };

/** What a span begins with. */
type Opened = Pick<Span, 'kind' | 'label' | 'from'> & Partial<Span>;

/** Where a record comes from: most records are of the node of the record before. */
interface Place {
  node?: string | undefined;
  visit?: number;
  branch?: string | undefined;
  span?: Span | undefined;
}

function buildSpans(records: readonly NativeRecord[], steps: readonly TraceStep[]): SpanBuilder {
  const spans = new SpanBuilder();
  let next = 0;
  records.forEach((record, at) => {
    for (; (steps[next]?.seq ?? Infinity) < record.seq; next += 1) spans.addStep(steps[next] as TraceStep);
    spans.addRecord(record, at);
  });
  for (; next < steps.length; next += 1) spans.addStep(steps[next] as TraceStep);
  return spans;
}

/**
 * Gives the spans of a run, in the order in which they began, each below the one that it belongs to. Records have what readers see; the
 * steps of the journal add the nodes and calls of which nothing is shown. Records that came since the last time are added to what is there.
 */
export function createSpans(): (records: readonly NativeRecord[], steps: readonly TraceStep[]) => Span[] {
  let held: { first: NativeRecord | undefined; count: number; steps: readonly TraceStep[]; spans: SpanBuilder } | undefined;
  return (records, steps) => {
    const known = held?.steps === steps && held.first === records[0] && held.count <= records.length ? held : undefined;
    const spans = known?.spans ?? buildSpans(records, steps);
    if (known) for (let at = known.count; at < records.length; at += 1) spans.addRecord(records[at] as NativeRecord, at);
    held = { first: records[0], count: records.length, steps, spans };
    return spans.finish();
  };
}

const nodeKeyOf = (node: string, visit: number, branch: string | null | undefined) => `node ${node} ${visit} ${branch ?? ''}`;

class SpanBuilder {
  #spans = new Map<string, Span>();
  #children = new Map<string, string[]>();
  /** Nodes of which the journal was read: they end when it says so, and not with their last record. */
  #traced = new Set<Span>();
  #last = 0;
  #place: Place = {};

  addStep({ type, seq, time, node, visit, branch, call, error }: TraceStep): void {
    const at = Date.parse(time);
    const run = this.#spans.get('run');
    if (type === 'taken-over' && run && run.state !== 'waiting' && this.#last > 0) {
      this.#open(`away ${seq}`, 'run', { kind: 'away', label: 'server away', detail: 'another process continued', from: this.#last, to: at, state: 'good' });
    }
    if (node === null) return;
    const key = nodeKeyOf(node, visit ?? 1, branch);
    if (type === 'node-entered') {
      const entered = this.#open(key, 'run', { kind: 'node', label: node, detail: (visit ?? 1) > 1 ? `visit ${visit}` : '', from: at });
      this.#traced.add(entered);
      return;
    }
    const inNode = this.#spans.get(key);
    if (type === 'node-failed' && inNode) inNode.detail = `a try failed: ${error?.code ?? ''}`;
    if (type === 'node-left') this.#close(inNode, at, error ? 'bad' : 'good', error?.message);
    if (call) this.#addCall(type, seq, at, call, error?.message, inNode?.key ?? 'run');
  }

  /** A call that readers are shown nothing of. */
  #addCall(type: TraceStep['type'], seq: number, to: number, call: NonNullable<TraceStep['call']>, error: string | undefined, parent: string): void {
    const state = error ? 'bad' : 'good';
    const from = call.startedAt ? Date.parse(call.startedAt) : to;
    if (type === 'tool-call') {
      // The output comes with it, and the events of the call before it.
      if (call.id === null || this.#spans.has(`tool ${call.id}`)) return;
      this.#open(`tool ${call.id}`, parent, { kind: 'tool', label: 'tool', detail: 'not shown to readers', from, to, state, ...(error && { error }) });
      return;
    }
    if (call.isShown) return;
    const tries = call.attempts && call.attempts > 1 ? `, ${call.attempts} attempts` : '';
    this.#open(`model call ${seq}`, parent, {
      kind: 'model',
      label: call.model ?? 'model',
      detail: `not shown to readers${tries}`,
      from,
      to,
      state,
      ...(call.usage && { usage: call.usage as Usage }),
      ...(error && { error }),
    });
  }

  addRecord(record: NativeRecord, at: number): void {
    const { event, operation, node } = record;
    const time = record.time ?? this.#last;
    this.#last = Math.max(this.#last, time);
    const run = this.#open('run', undefined, { kind: 'run', label: 'run', from: time });
    run.records.push(at);
    const inNode = this.#nodeOf(record, at, time);
    if (inNode) {
      inNode.records.push(at);
      if (!this.#traced.has(inNode)) Object.assign(inNode, { to: time, state: 'good' });
    }
    const attemptKey = (attempt: string) => `model ${operation ?? node ?? ''} ${attempt}`;
    const inAttempt = record.attempt ? this.#spans.get(attemptKey(record.attempt)) : undefined;
    if (inAttempt) {
      inAttempt.records.push(at);
      if (/^(block|tool-input|structured|file|source)/.test(event.type)) inAttempt.firstOutput ??= time;
      if (event.type === 'usage') inAttempt.usage = event;
    }
    const own = (span: Span | undefined) => {
      if (span && span !== inAttempt) span.records.push(at);
      return span;
    };
    const parent = inNode?.key ?? 'run';
    switch (event.type) {
      case 'attempt-started':
        own(this.#open(attemptKey(event.attempt), parent, { kind: 'model', label: event.model ?? 'model', detail: event.attempt, from: time }));
        break;
      case 'attempt-finished':
        this.#close(own(this.#spans.get(attemptKey(event.attempt))), time);
        break;
      case 'attempt-retracted':
        this.#close(own(this.#spans.get(attemptKey(event.attempt))), time, 'bad', event.reason ?? 'retracted');
        break;
      default:
        if (!this.#addRun(run, event, time)) this.#addTool(event, time, parent, own) || this.#addWait(run, event, time, parent, own);
    }
  }

  #nodeOf({ node, visit = 1, branch }: NativeRecord, at: number, time: number): Span | undefined {
    const held = this.#place;
    if (at > 0 && node === held.node && visit === held.visit && branch === held.branch) return held.span;
    const span = node ? this.#open(nodeKeyOf(node, visit, branch), 'run', { kind: 'node', label: node, detail: visit > 1 ? `visit ${visit}` : '', from: time }) : undefined;
    this.#place = { node, visit, branch, span };
    return span;
  }

  #addRun(run: Span, event: NativeRecord['event'], time: number): boolean {
    switch (event.type) {
      case 'run-started':
        run.label = event.workflow ?? 'run';
        run.detail = event.model ?? '';
        return true;
      case 'run-finished':
        if (event.usage) run.usage = event.usage;
        this.#close(run, time);
        return true;
      case 'run-waiting':
        if (event.usage) run.usage = event.usage;
        run.state = 'waiting';
        for (const call of event.toolCalls ?? []) {
          const tool = this.#spans.get(`tool ${call}`);
          if (tool) tool.state = 'waiting';
        }
        return true;
      case 'run-failed':
        this.#close(run, time, 'bad', event.message);
        return true;
      case 'run-cancelled':
        this.#close(run, time, 'bad', event.reason ?? 'stopped');
        return true;
      default:
        return false;
    }
  }

  #addTool(event: NativeRecord['event'], time: number, parent: string, own: (span: Span | undefined) => Span | undefined): boolean {
    switch (event.type) {
      case 'tool-input-start':
      case 'tool-input-available':
        own(this.#open(`tool ${event.call}`, parent, { kind: 'tool', label: event.title ?? event.name, detail: event.title ? event.name : '', from: time }));
        return true;
      case 'tool-input-delta':
        own(this.#spans.get(`tool ${event.call}`));
        return true;
      case 'tool-output':
        if (!event.preliminary) this.#close(own(this.#spans.get(`tool ${event.call}`)), time, event.isError ? 'bad' : 'good', event.isError ? 'the tool reports a failure' : undefined);
        return true;
      case 'tool-output-error':
      case 'tool-input-error':
        this.#close(own(this.#spans.get(`tool ${event.call}`)), time, 'bad', event.error);
        return true;
      case 'tool-denied':
        this.#close(own(this.#spans.get(`tool ${event.call}`)), time, 'bad', event.reason ?? 'not allowed');
        return true;
      default:
        return false;
    }
  }

  #addWait(run: Span, event: NativeRecord['event'], time: number, parent: string, own: (span: Span | undefined) => Span | undefined): void {
    const answered = (key: string, state: Span['state'], error?: string) => {
      this.#close(own(this.#spans.get(key)), time, state, error);
      if (run.state === 'waiting') run.state = 'active';
    };
    switch (event.type) {
      case 'approval-requested': {
        const tool = `tool ${event.call}`;
        own(this.#open(`wait ${event.approval}`, this.#spans.has(tool) ? tool : parent, { kind: 'wait', label: 'approval', detail: event.name, from: time, state: 'waiting' }));
        break;
      }
      case 'approval-answered':
        answered(`wait ${event.approval}`, event.approved ? 'good' : 'bad', event.approved ? undefined : (event.reason ?? 'refused'));
        break;
      case 'interrupt-requested':
        own(this.#open(`wait ${event.request}`, parent, { kind: 'wait', label: 'question', detail: event.question ?? '', from: time, state: 'waiting' }));
        break;
      case 'interrupt-answered':
        answered(`wait ${event.request}`, 'good');
        break;
      case 'interrupt-expired':
        answered(`wait ${event.request}`, 'bad', 'no answer came in time');
        break;
    }
  }

  /** All spans so far, the run first. */
  finish(): Span[] {
    const run = this.#spans.get('run');
    const ordered: Span[] = [];
    const visit = (key: string) => {
      const span = this.#spans.get(key);
      if (span) ordered.push(this.#asOf(run, span));
      this.#children.get(key)?.forEach(visit);
    };
    visit('run');
    return ordered;
  }

  /** A span as it is when the run has ended, or waits. */
  #asOf(run: Span | undefined, span: Span): Span {
    if (span.to !== undefined || span === run || !run) return span;
    // The last steps of the journal may not be read yet.
    if (run.to !== undefined && this.#traced.has(span) && run.state === 'good') return { ...span, to: run.to, state: 'good' };
    // What was open when the run ended ended with it.
    if (run.to !== undefined) return { ...span, to: run.to, state: 'bad', error: 'ended with the run' };
    return run.state === 'waiting' && span.kind === 'node' ? { ...span, state: 'waiting' } : span;
  }

  #open(key: string, parent: string | undefined, span: Opened): Span {
    const known = this.#spans.get(key);
    if (known) return known;
    const depth = parent ? (this.#spans.get(parent)?.depth ?? 0) + 1 : 0;
    const made: Span = { detail: '', state: 'active', records: [], ...span, key, depth };
    this.#spans.set(key, made);
    if (parent) this.#children.get(parent)?.push(key) ?? this.#children.set(parent, [key]);
    return made;
  }

  #close(span: Span | undefined, time: number, state: Span['state'] = 'good', error?: string): void {
    if (!span || span.to !== undefined) return;
    span.to = time;
    span.state = state;
    if (error) span.error = error;
  }
}

/**
 * A scale from times to 0–1 on which long silences are short: a person who took an hour to answer leaves the rest
 * readable.
 */
export function timeScale(records: readonly NativeRecord[], spans: readonly Span[], now: number): { place: (time: number) => number; cuts: { at: number; lasted: number }[] } {
  let times: number[] = [];
  let isSorted = true;
  const add = (time: number | undefined) => {
    const before = times.at(-1);
    if (time === undefined || time === before) return;
    isSorted &&= before === undefined || before < time;
    times.push(time);
  };
  for (const { time } of records) add(time);
  // Hidden steps have times of their own, and open ones continue.
  for (const { records: own, from, to } of spans) if (own.length === 0) [from, to].forEach(add);
  if (spans[0]?.to === undefined) add(now);
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
