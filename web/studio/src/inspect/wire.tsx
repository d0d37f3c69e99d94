import type { HeadwaterError, NativeRecord } from '@headwater/client';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { hasKey } from '../api';
import { Copy } from '../copy';
import { count, plural } from '../format';
import { DIALECTS, eventsPath } from './dialects';
import { asProblem, hasDelta, isComment, readFrames, seqOf } from './frames';
import { Moment } from './moment';
import { RawFrame } from './raw-frame';
import { cursorBefore } from './record-detail';

const STORE = 'headwater studio dialects';

interface Props {
  run: string;
  records: readonly NativeRecord[];
  cursors: ReadonlyMap<number, string>;
  seq: number | undefined;
  onSeq: (seq: number | undefined) => void;
}

/** The same run as the frames of several dialects, side by side, and which of them come from one record. */
export function Wire({ run, records, cursors, seq, onSeq }: Props) {
  // A stream ends where the run waits, so it is read anew when the run continues.
  const phase = useMemo(() => records.filter((_, at) => records[at - 1]?.event.type === 'run-waiting').length, [records]);
  const [shown, setShown] = useState<string[]>(() => stored());
  const toggle = (name: string) =>
    setShown((held) => {
      const now = held.includes(name) ? held.filter((other) => other !== name) : DIALECTS.map(([known]) => known as string).filter((known) => known === name || held.includes(known));
      try {
        localStorage.setItem(STORE, now.join());
      } catch {
        // Then it lasts as long as the page.
      }
      return now;
    });
  const found = seq === undefined ? -1 : records.findLastIndex((record) => record.seq <= seq);
  const at = found < 0 ? records.length - 1 : found;
  const record = seq === undefined ? undefined : records[at];
  const moment = useMemo<MomentPlace | undefined>(() => {
    if (!record) return undefined;
    return { record, seq: record.seq, previous: records[at - 1]?.seq ?? 0, own: cursors.get(record.seq), before: cursorBefore(record.seq, records, cursors) };
  }, [record?.seq, run]);
  return (
    <div class="wire">
      <div class="dialects" role="group" aria-label="Dialects">
        {DIALECTS.map(([name, about]) => (
          <button key={name} type="button" class={shown.includes(name) ? 'chip on' : 'chip'} aria-pressed={shown.includes(name)} title={about} onClick={() => toggle(name)}>{name}</button>
        ))}
        {shown.length < DIALECTS.length && <button type="button" class="link" onClick={() => DIALECTS.forEach(([name]) => !shown.includes(name) && toggle(name))}>all</button>}
      </div>
      <Moment records={records} at={at} onMove={(to) => onSeq(records[Math.min(records.length - 1, Math.max(0, to))]?.seq)} />
      {shown.length === 0 && <p class="soft pad">Pick a dialect.</p>}
      <div class="columns">
        {shown.map((dialect) => <Column key={`${dialect} ${run} ${phase}`} run={run} dialect={dialect} moment={moment} onSeq={onSeq} />)}
      </div>
    </div>
  );
}

/** A record, and where its frames begin and end. */
interface MomentPlace {
  record: NativeRecord;
  seq: number;
  previous: number;
  before: string | undefined;
  own: string | undefined;
}

/** How many frames are drawn at once. */
const WINDOW = 120;

interface Stream {
  frames: string[];
  bytes: number;
  state: 'open' | 'ended' | HeadwaterError;
}

function Column({ run, dialect, moment, onSeq }: { run: string; dialect: string; moment: MomentPlace | undefined; onSeq: (seq: number) => void }) {
  const [{ frames, bytes, state }, setStream] = useState<Stream>({ frames: [], bytes: 0, state: 'open' });
  const path = eventsPath(run, dialect, { until: 'wait' });
  useEffect(() => {
    const controller = new AbortController();
    const all: string[] = [];
    let read = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = (now: Stream['state']) => {
      clearTimeout(timer);
      timer = undefined;
      if (!controller.signal.aborted) setStream({ frames: all.slice(), bytes: read, state: now });
    };
    readFrames(path, controller.signal, (more, size) => {
      all.push(...more);
      read += size;
      timer ??= setTimeout(() => draw('open'), Math.max(60, all.length / 100));
    }).then(() => draw('ended'), (error: unknown) => draw(asProblem(error)));
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [path]);

  const [from, to] = useMomentFrames(run, dialect, frames, state === 'ended', moment);
  const [start, setStart] = useState(0);
  const log = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (from < 0) return;
    if (from < start || from >= start + WINDOW) setStart(Math.max(0, from - 20));
  }, [from]);
  useEffect(() => {
    const box = log.current;
    const first = box?.querySelector<HTMLElement>('.now');
    if (box && first) box.scrollTop = first.offsetTop - box.clientHeight / 4;
  }, [from, to, start]);
  const end = Math.min(frames.length, start + WINDOW);
  return (
    <section class="dialect" aria-label={dialect}>
      <header>
        <h3>{dialect}</h3>
        <span class="soft">{moment && from >= 0 ? `${count(to - from)} of ` : ''}{plural(frames.length, 'frame')} · {(bytes / 1024).toFixed(1)} KB{state === 'open' && ' · live'}</span>
        <Copy label={`Copy ${dialect} as curl`} text={() => curl(eventsPath(run, dialect, { after: moment?.before }))}>curl</Copy>
      </header>
      {typeof state === 'object' && <p class="problem">{state.message}</p>}
      {moment && from === to && from >= 0 && <p class="soft nothing">This record is nothing here.</p>}
      <ol ref={log} tabIndex={0} aria-label={`Frames of ${dialect}`}>
        {start > 0 && <li class="more"><button type="button" class="link" onClick={() => setStart(Math.max(0, start - WINDOW + 20))}>{plural(start, 'frame')} before</button></li>}
        {frames.slice(start, end).map((frame, index) => {
          const at = start + index;
          return (
            <li key={at} class={at >= from && at < to ? 'now' : ''} onClick={() => pick(frame, onSeq)}>
              <RawFrame text={frame} before={at > 0 ? frames[at - 1] : undefined} />
            </li>
          );
        })}
        {end < frames.length && <li class="more"><button type="button" class="link" onClick={() => setStart(end - 20)}>{plural(frames.length - end, 'frame')} after</button></li>}
      </ol>
    </section>
  );
}

/** A click on a frame goes to its record, unless text was selected. */
function pick(frame: string, onSeq: (seq: number) => void): void {
  const seq = seqOf(frame);
  if (seq !== undefined && getSelection()?.isCollapsed) onSeq(seq);
}

/** The frames that a record became: `[from, to)`, or -1 as long as they are not known. */
function useMomentFrames(run: string, dialect: string, frames: readonly string[], isEnded: boolean, moment: MomentPlace | undefined): [number, number] {
  const [tails, setTails] = useState<ReadonlyMap<string, number>>(new Map());
  const hasCursors = useMemo(() => frames.some((frame) => seqOf(frame) !== undefined), [frames]);
  const wanted = !moment || hasCursors || !isEnded ? [] : [moment.before, moment.own].filter((cursor): cursor is string => !!cursor && !tails.has(cursor));
  useEffect(() => {
    if (wanted.length === 0) return;
    const controller = new AbortController();
    for (const cursor of wanted) {
      let left = 0;
      // Without cursors of its own, the place of a record is where the rest of the stream begins.
      readFrames(eventsPath(run, dialect, { after: cursor, until: 'wait' }), controller.signal, (more) => void (left += more.filter((frame) => !isComment(frame)).length)).then(
        () => !controller.signal.aborted && setTails((held) => new Map(held).set(cursor, left)),
        () => {},
      );
    }
    return () => controller.abort();
  }, [wanted.join(), run, dialect]);
  return useMemo(() => {
    if (!moment) return [-1, -1];
    // A delta that was read together with the next ones is a part of their frame.
    const whole = (from: number, to: number): [number, number] => (from === to && hasDelta(frames[from], moment.record) ? [from, from + 1] : [from, to]);
    if (hasCursors) {
      const after = (seq: number) => {
        const found = frames.findIndex((frame) => (seqOf(frame) ?? 0) > seq);
        return found < 0 ? frames.length : found;
      };
      return whole(after(moment.previous), after(moment.seq));
    }
    const total = frames.filter((frame) => !isComment(frame)).length;
    const from = moment.before === undefined ? 0 : tails.get(moment.before);
    const to = moment.own === undefined ? undefined : tails.get(moment.own);
    if (from === undefined || to === undefined) return [-1, -1];
    return whole(moment.before === undefined ? 0 : total - from, total - to);
  }, [frames, tails, moment, hasCursors]);
}

const curl = (path: string): string => `curl -N '${location.origin}${path}'${hasKey() ? ' -H "Authorization: Bearer $HEADWATER_KEY"' : ''}`;

function stored(): string[] {
  try {
    const kept = localStorage.getItem(STORE);
    if (kept !== null) return kept.split(',').filter((name) => DIALECTS.some(([known]) => known === name));
  } catch {
    // The usual ones.
  }
  return innerWidth < 700 ? ['ai-sdk'] : ['native', 'ai-sdk', 'ag-ui'];
}
