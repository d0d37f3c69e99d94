import type { HeadwaterError, NativeRecord } from '@headwater/client';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { hasKey } from '../api';
import { Copy } from '../copy';
import { count, plural } from '../format';
import { createPace } from '../pace';
import { DIALECTS, eventsPath } from './dialects';
import { asProblem, cursorOf, hasDelta, isComment, readFrames, seqOf } from './frames';
import { Moment } from './moment';
import { RawFrame } from './raw-frame';

const STORE = 'headwater studio dialects';

interface Props {
  run: string;
  records: readonly NativeRecord[];
  /** The stream of the records themselves. */
  native: FrameStream;
  seq: number | undefined;
  onSeq: (seq: number | undefined) => void;
}

/** The same run as the frames of several dialects, side by side, and which of them come from one record. */
export function Wire({ run, records, native, seq, onSeq }: Props) {
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
  // Frames are looked for once the record that the URL names is there.
  const isReached = native.state !== 'open' || (records.at(-1)?.seq ?? 0) >= (seq ?? 0);
  const record = seq === undefined || !isReached ? undefined : records[at];
  const moment = useMemo<MomentPlace | undefined>(() => {
    if (!record) return undefined;
    return { record, at, seq: record.seq, previous: records[at - 1]?.seq ?? 0, own: cursorOf(native.frames[at]), before: cursorOf(native.frames[at - 1]) };
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
        {shown.map((dialect) =>
          dialect === 'native' ? (
            <Column key={dialect} run={run} dialect={dialect} stream={native} place={moment ? [moment.at, moment.at + 1] : NOWHERE} moment={moment} onFrame={(index) => onSeq(records[index]?.seq)} />
          ) : (
            <DialectColumn key={`${dialect} ${phase}`} run={run} dialect={dialect} isRead={native.state !== 'open'} moment={moment} onSeq={onSeq} />
          ),
        )}
      </div>
    </div>
  );
}

/** A record, and where its frames begin and end. */
interface MomentPlace {
  record: NativeRecord;
  /** Its place among the records. */
  at: number;
  seq: number;
  previous: number;
  before: string | undefined;
  own: string | undefined;
}

/** How many frames are drawn at once. */
const WINDOW = 60;
/** So near to the end of what is drawn, in pixels, the next frames are drawn. */
const SLIDE_NEAR = 200;

/** The frames from the first to before the second; -1 if they are not known. */
type Place = readonly [number, number];
const NOWHERE: Place = [-1, -1];

interface FrameStream {
  frames: readonly string[];
  bytes: number;
  state: 'open' | 'ended' | HeadwaterError;
}

/** A column of a dialect that is read for it. */
function DialectColumn({ run, dialect, isRead, moment, onSeq }: { run: string; dialect: string; isRead: boolean; moment: MomentPlace | undefined; onSeq: (seq: number | undefined) => void }) {
  const stream = useFrames(run, dialect, isRead);
  const place = useMomentFrames(run, dialect, stream.frames, stream.state === 'ended', moment);
  const onFrame = (index: number) => {
    const seq = seqOf(stream.frames[index] ?? '');
    if (seq !== undefined) onSeq(seq);
  };
  return <Column run={run} dialect={dialect} stream={stream} place={place} moment={moment} onFrame={onFrame} />;
}

/** So many frames of a dialect are read at once, and the others when the records are there: those come first. */
const FIRST_FRAMES = 300;
/** How long a dialect waits for the records, in milliseconds: those of an active run are never all there. */
const HOLD = 1000;

/** The stream of a run in a dialect, up to where the run waits. `isRead`: the records of the run are all there. */
function useFrames(run: string, dialect: string, isRead: boolean): FrameStream {
  const release = useRef<() => void>(undefined);
  const isHeld = useRef(!isRead);
  useEffect(() => {
    if (!isRead) return;
    isHeld.current = false;
    release.current?.();
  }, [isRead]);
  const [stream, setStream] = useState<FrameStream>({ frames: [], bytes: 0, state: 'open' });
  const path = eventsPath(run, dialect, { until: 'wait' });
  useEffect(() => {
    const controller = new AbortController();
    const all: string[] = [];
    let read = 0;
    let state: FrameStream['state'] = 'open';
    const pace = createPace(() => !controller.signal.aborted && setStream({ frames: all.slice(), bytes: read, state }));
    const end = (now: FrameStream['state']) => {
      state = now;
      pace.now();
    };
    readFrames(path, controller.signal, async (more, size) => {
      for (const frame of more) all.push(frame);
      read += size;
      await pace.arrived(more.length);
      if (!isHeld.current || all.length < FIRST_FRAMES) return;
      await new Promise<void>((resolve) => {
        release.current = resolve;
        setTimeout(resolve, HOLD);
      });
      isHeld.current = false;
    }).then(() => end('ended'), (error: unknown) => end(asProblem(error)));
    return () => {
      pace.stop();
      controller.abort();
    };
  }, [path]);
  return stream;
}

interface ColumnProps {
  run: string;
  dialect: string;
  stream: FrameStream;
  place: Place;
  moment: MomentPlace | undefined;
  onFrame: (index: number) => void;
}

function Column({ run, dialect, stream: { frames, bytes, state }, place: [from, to], moment, onFrame }: ColumnProps) {
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
  // Scrolling on moves the window; the frame at the top of the view stays where it is.
  const anchor = useRef<{ at: number; top: number } | undefined>(undefined);
  const slide = (to: number) => {
    const box = log.current;
    const first = box && [...box.querySelectorAll<HTMLElement>('li[data-at]')].find((item) => item.offsetTop + item.offsetHeight > box.scrollTop);
    if (first) anchor.current = { at: Number(first.dataset.at), top: first.offsetTop - box.scrollTop };
    setStart(Math.max(0, Math.min(to, frames.length - WINDOW)));
  };
  useLayoutEffect(() => {
    const box = log.current;
    const item = anchor.current && box?.querySelector<HTMLElement>(`li[data-at="${anchor.current.at}"]`);
    if (box && item) box.scrollTop = item.offsetTop - (anchor.current?.top ?? 0);
    anchor.current = undefined;
  }, [start]);
  const scrolled = ({ currentTarget: box }: { currentTarget: HTMLElement }) => {
    if (anchor.current) return;
    if (end < frames.length && box.scrollHeight - box.scrollTop - box.clientHeight < SLIDE_NEAR) slide(start + WINDOW / 3);
    else if (start > 0 && box.scrollTop < SLIDE_NEAR) slide(start - WINDOW / 3);
  };
  return (
    <section class="dialect" aria-label={dialect}>
      <header>
        <h3>{dialect}</h3>
        <span class="soft">{moment && from >= 0 ? `${count(to - from)} of ` : ''}{plural(frames.length, 'frame')} · {(bytes / 1024).toFixed(1)} KB{state === 'open' && ' · live'}</span>
        <Copy label={`Copy ${dialect} as curl`} text={() => curl(eventsPath(run, dialect, { after: moment?.before }))}>curl</Copy>
      </header>
      {typeof state === 'object' && <p class="problem">{state.message}</p>}
      {moment && from === to && from >= 0 && <p class="soft nothing">This record is nothing here.</p>}
      <ol ref={log} tabIndex={0} aria-label={`Frames of ${dialect}`} onScroll={scrolled}>
        {start > 0 && <li class="more"><button type="button" class="link" onClick={() => slide(start - WINDOW / 3)}>{plural(start, 'frame')} before</button></li>}
        {frames.slice(start, end).map((frame, index) => {
          const at = start + index;
          return (
            // A click goes to the record of the frame, unless text was selected.
            <li key={at} data-at={at} class={at >= from && at < to ? 'now' : ''} onClick={() => getSelection()?.isCollapsed && onFrame(at)}>
              <RawFrame text={frame} before={at > 0 ? frames[at - 1] : undefined} />
            </li>
          );
        })}
        {end < frames.length && <li class="more"><button type="button" class="link" onClick={() => slide(start + WINDOW / 3)}>{plural(frames.length - end, 'frame')} after</button></li>}
      </ol>
    </section>
  );
}

/** The frames that a record became, once they are known. */
function useMomentFrames(run: string, dialect: string, frames: readonly string[], isEnded: boolean, moment: MomentPlace | undefined): Place {
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
    if (!moment) return NOWHERE;
    // A delta that was read together with the next ones is a part of their frame.
    const whole = (from: number, to: number): Place => (from === to && hasDelta(frames[from], moment.record) ? [from, from + 1] : [from, to]);
    if (hasCursors) {
      return whole(firstAfter(frames, moment.previous), firstAfter(frames, moment.seq));
    }
    const total = frames.filter((frame) => !isComment(frame)).length;
    const from = moment.before === undefined ? 0 : tails.get(moment.before);
    const to = moment.own === undefined ? undefined : tails.get(moment.own);
    if (from === undefined || to === undefined) return NOWHERE;
    return whole(moment.before === undefined ? 0 : total - from, total - to);
  }, [frames, tails, moment, hasCursors]);
}

/** The first frame of a later record than this. Records come in order, and a frame without a cursor belongs to the one before it. */
function firstAfter(frames: readonly string[], seq: number): number {
  let [low, high] = [0, frames.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    let at = middle;
    while (at > low && seqOf(frames[at] ?? '') === undefined) at -= 1;
    if ((seqOf(frames[at] ?? '') ?? 0) > seq) high = at;
    else low = middle + 1;
  }
  return low;
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
