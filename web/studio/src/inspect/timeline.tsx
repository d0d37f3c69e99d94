import type { NativeRecord } from '@headwater/client';
import { useMemo, useState } from 'preact/hooks';
import { Copy } from '../copy';
import { count, duration, line, plural } from '../format';
import { Icon } from '../icon';
import { Json } from '../json';
import { ICONS, spansOf, timeScale, type Span } from './spans';

interface Props {
  records: readonly NativeRecord[];
  /** The record that the URL names. */
  seq: number | undefined;
  onSeq: (seq: number | undefined) => void;
}

export function Timeline({ records, seq, onSeq }: Props) {
  const spans = useMemo(() => spansOf(records), [records]);
  const scale = useMemo(() => timeScale(records), [records]);
  const [picked, setPicked] = useState<string>();
  const run = spans[0];
  if (!run) return null;
  const span = spans.find(({ key }) => key === picked);
  const last = records.at(-1)?.time ?? run.from;
  return (
    <div class="timeline">
      <Summary run={run} spans={spans} last={last} />
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
      <RecordList
        records={records}
        only={span ? new Set(span.records) : undefined}
        title={span ? `Records of ${span.label}` : 'Records'}
        seq={seq}
        onSeq={onSeq}
      />
    </div>
  );
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

function Summary({ run, spans, last }: { run: Span; spans: Span[]; last: number }) {
  const of = (kind: Span['kind']) => spans.filter((span) => span.kind === kind);
  const waited = of('wait').reduce((sum, { from, to }) => sum + ((to ?? last) - from), 0);
  const retried = of('model').filter(({ state }) => state === 'bad').length;
  const facts: [string, string][] = [
    ['Duration', duration((run.to ?? last) - run.from)],
    ['Model calls', count(of('model').length) + (retried > 0 ? `, ${retried} failed` : '')],
    ['Tools', count(of('tool').length)],
  ];
  const first = of('model')[0]?.firstOutput;
  if (first !== undefined) facts.splice(1, 0, ['First output', duration(first - run.from)]);
  if (waited > 0) facts.push(['Waited', duration(waited)]);
  if (run.usage?.totalTokens != null) facts.push(['Tokens', `${count(run.usage.inputTokens ?? 0)} in, ${count(run.usage.outputTokens ?? 0)} out`]);
  return <dl class="summary">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

function SpanDetail({ span }: { span: Span }) {
  const facts: [string, string][] = [['Records', count(span.records.length)]];
  if (span.firstOutput !== undefined) facts.push(['First output', duration(span.firstOutput - span.from)]);
  if (span.usage?.totalTokens != null) {
    facts.push(['Tokens', `${count(span.usage.inputTokens ?? 0)} in, ${count(span.usage.outputTokens ?? 0)} out`]);
    const seconds = ((span.to ?? span.from) - (span.firstOutput ?? span.from)) / 1000;
    if (span.kind === 'model' && seconds > 0.05) facts.push(['Rate', `${Math.round((span.usage.outputTokens ?? 0) / seconds)} tokens/s`]);
  }
  return <dl class="summary detail">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

const PAGE = 400;

/** The records as they came. */
export function RecordList({ records, only, title, seq, onSeq }: Props & { only?: Set<number> | undefined; title: string }) {
  const [shown, setShown] = useState(PAGE);
  const start = records[0]?.time ?? 0;
  const list = records.flatMap((record, at) => (!only || only.has(at) ? [record] : []));
  return (
    <section class="records">
      <h3>{title} <span class="soft">{plural(list.length, 'record')}</span></h3>
      <ol>
        {list.slice(0, shown).map((record) => {
          const isOpen = record.seq === seq;
          return (
            <li key={record.seq} class={isOpen ? 'on' : ''}>
              <button type="button" aria-expanded={isOpen} onClick={() => onSeq(isOpen ? undefined : record.seq)}>
                <span class="seq">{record.seq}</span>
                <span class="time">+{duration((record.time ?? start) - start)}</span>
                <span class={`type ${toneOf(record.event.type)}`}>{record.event.type}</span>
                <span class="gist">{gist(record)}</span>
              </button>
              {isOpen && (
                <div class="record">
                  <Copy label="Copy the record" text={() => JSON.stringify(record, null, 2)}>Copy</Copy>
                  <Json value={record} open={3} />
                </div>
              )}
            </li>
          );
        })}
      </ol>
      {list.length > shown && <button type="button" class="quiet" onClick={() => setShown(shown + 10 * PAGE)}>{plural(list.length - shown, 'more record')}</button>}
    </section>
  );
}

function toneOf(type: string): string {
  if (/failed|error|retracted|denied|cancelled|expired/.test(type)) return 'bad';
  if (/requested|waiting/.test(type)) return 'waiting';
  if (/^run|checkpoint/.test(type)) return 'good';
  return '';
}

/** What a record is about, in one line. */
export function gist({ event }: NativeRecord): string {
  const { type, ...rest } = event as { type: string } & Record<string, unknown>;
  const { delta, content, name, model, reason, error, message, path, value, items, data, output, label, question, url } = rest as Record<string, never>;
  if (type === 'structured' && delta !== undefined) return `${line(path, 60)} += ${JSON.stringify(delta)}`;
  if (delta !== undefined) return line(delta, 160);
  if (type === 'structured') return line([path, value ?? items ?? data].filter((part) => part !== undefined).map((part) => line(part)).join(' = '), 160);
  if (type === 'usage') return `${rest.inputTokens ?? 0} in, ${rest.outputTokens ?? 0} out`;
  const first = content ?? question ?? name ?? model ?? label ?? url;
  const second = error ?? reason ?? output ?? (type === 'data' ? data : undefined) ?? (type.startsWith('run') ? message : undefined) ?? rest.input;
  return [first, second].filter((part) => part !== undefined).map((part) => line(part)).join(' · ');
}
