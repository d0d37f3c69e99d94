import type { NativeRecord } from '@headwater/client';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { readRun, type Agent, type AgentWorkflow, type Run } from '../api';
import { count, duration, plural } from '../format';
import { Icon } from '../icon';
import type { Tab } from '../route';
import { VirtualList } from '../virtual-list';
import { ExportTest } from './export-test';
import { gist, toneOf } from './gist';
import { Graph } from './graph';
import { RecordDetail } from './record-detail';
import { createSpans, ICONS, timeScale, type Span } from './spans';
import { useNow, useTrace } from './trace';

interface Props {
  run: string;
  records: readonly NativeRecord[];
  /** The frame of each record. */
  frames: readonly string[];
  isComplete: boolean;
  agents: readonly Agent[];
  /** The record that the URL names. */
  seq: number | undefined;
  onSeq: (seq: number | undefined) => void;
  /** Opens another view at the same record. */
  onTab: (tab: Tab) => void;
}

export function Timeline(props: Props) {
  const { records } = props;
  const steps = useTrace(props.run, records.length, props.isComplete);
  const [addTo] = useState(createSpans);
  const spans = useMemo(() => addTo(records, steps), [records, steps]);
  const isOpen = spans[0] !== undefined && spans[0].to === undefined;
  const now = useNow(isOpen);
  // While many records come, the scale grows in steps.
  const grown = isOpen ? Math.floor((records.at(-1)?.time ?? 0) / 200) : records;
  const scale = useMemo(() => timeScale(records, spans, now), [grown, steps, isOpen && now]);
  const [picked, setPicked] = useState<string>();
  const workflow = useWorkflow(props.run, props.agents);
  const run = spans[0];
  if (!run) return null;
  const span = spans.find(({ key }) => key === picked);
  const recorded = records.at(-1)?.time ?? run.from;
  // A clock of the page that is behind must not make a span negative.
  const last = isOpen ? Math.max(recorded, now) : recorded;
  return (
    <div class="timeline">
      <Summary run={run} spans={spans} last={last}>
        <ExportTest run={props.run} isComplete={props.isComplete} />
      </Summary>
      <Graph spans={spans} workflow={workflow} picked={picked} onPick={(key) => setPicked(key === picked ? undefined : key)} />
      <ol class="spans" aria-label="Timeline">
        {spans.map((item) => (
          <li key={item.key}>
            <button type="button" class={`span ${item.kind} ${item.state} ${item.key === picked ? 'on' : ''}`} aria-pressed={item.key === picked} onClick={() => setPicked(item.key === picked ? undefined : item.key)} title={item.error}>
              <span class="name" style={{ paddingLeft: `${item.depth * 14}px` }}>
                <Icon name={ICONS[item.kind]} />
                <span class="label">{item.label}</span>
                <span class="soft">{item.detail}</span>
              </span>
              <span class="track">
                <Bar item={item} place={scale.place} last={last} />
                {item.kind === 'run' && scale.cuts.map(({ at, lasted }) => <span key={at} class="skip" style={{ left: `${at * 100}%` }} title={`${duration(lasted)} not drawn to scale`} />)}
              </span>
              <span class="numbers">{duration((item.to ?? last) - item.from)}</span>
            </button>
            {item.error && <p class="why" style={{ paddingLeft: `${item.depth * 14 + 22}px` }}>{item.error}</p>}
          </li>
        ))}
      </ol>
      {span && <SpanDetail span={span} />}
      <RecordList {...props} only={span && span.records.length > 0 ? span.records : undefined} title={span && span.records.length > 0 ? `Records of ${span.label}` : 'Records'} />
    </div>
  );
}

/** The workflow of a run, if an agent of the server still has it in that version. */
function useWorkflow(run: string, agents: readonly Agent[]): AgentWorkflow | undefined {
  const [found, setFound] = useState<Run>();
  useEffect(() => {
    let isCurrent = true;
    // Without it the graph is that of the visited nodes.
    void readRun(run).then(({ run }) => isCurrent && setFound(run), () => {});
    return () => void (isCurrent = false);
  }, [run]);
  const workflow = agents.find(({ name }) => name === found?.agent)?.workflows?.find(({ id }) => id === found?.workflow);
  return workflow?.version === found?.version ? workflow : undefined;
}

function Bar({ item, place, last }: { item: Span; place: (time: number) => number; last: number }) {
  const from = place(item.from);
  const width = Math.max(0.004, place(item.to ?? last) - from);
  const first = item.firstOutput === undefined ? 0 : Math.max(0, place(item.firstOutput) - from);
  return (
    <span class="fill" style={{ left: `${Math.min(from, 0.996) * 100}%`, width: `${width * 100}%` }}>
      {first > 0 && <span class="before" style={{ width: `${Math.min(100, (first / width) * 100)}%` }} />}
    </span>
  );
}

function Summary({ run, spans, last, children }: { run: Span; spans: Span[]; last: number; children: ComponentChildren }) {
  const of = (kind: Span['kind']) => spans.filter((span) => span.kind === kind);
  const waits = of('wait');
  const waited = waits.reduce((sum, { from, to }) => sum + ((to ?? last) - from), 0);
  const retried = of('model').filter(({ state }) => state === 'bad').length;
  const usage = usageOf(run, of('model'));
  const facts: [string, string][] = [
    ['Duration', duration((run.to ?? last) - run.from)],
    ['Model calls', count(of('model').length) + (retried > 0 ? `, ${retried} failed` : '')],
    ['Tools', count(of('tool').length)],
  ];
  const first = of('model').find(({ firstOutput }) => firstOutput !== undefined)?.firstOutput;
  if (first !== undefined) facts.splice(1, 0, ['First output', duration(first - run.from)]);
  if (waited > 0) facts.push([waits.some(({ to }) => to === undefined) ? 'Waiting' : 'Waited', duration(waited)]);
  if (usage) facts.push(['Tokens', usage]);
  return (
    <div class="summary-bar">
      <dl class="summary">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      {children}
    </div>
  );
}

/** What the run says that it used, or until then the sum of its calls. */
function usageOf(run: Span, calls: readonly Span[]): string | undefined {
  const counted = run.usage ? [run.usage] : calls.flatMap(({ usage }) => usage ?? []);
  const sum = (pick: 'inputTokens' | 'outputTokens') => counted.reduce((total, usage) => total + (usage[pick] ?? 0), 0);
  const [input, output] = [sum('inputTokens'), sum('outputTokens')];
  return input + output > 0 ? `${count(input)} in, ${count(output)} out` : undefined;
}

function SpanDetail({ span }: { span: Span }) {
  const facts: [string, string][] = span.records.length > 0 ? [['Records', count(span.records.length)]] : [['Records', 'none: readers are shown nothing of it']];
  if (span.firstOutput !== undefined) facts.push(['First output', duration(span.firstOutput - span.from)]);
  if (span.usage?.totalTokens != null) {
    facts.push(['Tokens', `${count(span.usage.inputTokens ?? 0)} in, ${count(span.usage.outputTokens ?? 0)} out`]);
    const seconds = ((span.to ?? span.from) - (span.firstOutput ?? span.from)) / 1000;
    if (span.kind === 'model' && seconds > 0.05) facts.push(['Rate', `${Math.round((span.usage.outputTokens ?? 0) / seconds)} tokens/s`]);
  }
  return <dl class="summary detail">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

/** The height of a record in the list, as in the style sheet. */
const ROW = 24;

/** The records as they came. */
function RecordList({ run, records, frames, isComplete, only, title, seq, onSeq, onTab }: Props & { only?: readonly number[] | undefined; title: string }) {
  const start = records[0]?.time ?? 0;
  const list = useMemo(() => (only ? only.map((at) => records[at] as NativeRecord) : records), [records, only]);
  const openAt = useMemo(() => (seq === undefined ? -1 : list.findIndex((record) => record.seq === seq)), [list, seq]);
  return (
    <section class="records">
      <h3>{title} <span class="soft">{plural(list.length, 'record')}</span></h3>
      <VirtualList
        items={list}
        rowHeight={ROW}
        openAt={openAt}
        label={title}
        keyOf={({ seq: key }) => key}
        onOpen={(record) => onSeq(record.seq)}
        row={(record, at) => (
          <button type="button" aria-expanded={at === openAt} onClick={() => onSeq(at === openAt ? undefined : record.seq)}>
            <span class="seq">{record.seq}</span>
            <span class="time">+{duration((record.time ?? start) - start)}</span>
            <span class={`type ${toneOf(record.event.type)}`}>{record.event.type}</span>
            <span class="gist">{gist(record)}</span>
          </button>
        )}
        detail={(record) => <RecordDetail run={run} record={record} records={records} frames={frames} isComplete={isComplete} onTab={onTab} />}
      />
    </section>
  );
}
