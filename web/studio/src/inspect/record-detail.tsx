import type { HeadwaterError, NativeRecord } from '@headwater/client';
import { useEffect, useState } from 'preact/hooks';
import { Copy } from '../copy';
import { plural } from '../format';
import { Icon } from '../icon';
import { Json } from '../json';
import type { Tab } from '../route';
import { DIALECTS } from './dialects';
import { asProblem, cursorOf, framesOfRecord, type Became } from './frames';
import { RawFrame } from './raw-frame';

interface Props {
  run: string;
  record: NativeRecord;
  records: readonly NativeRecord[];
  /** The frame of each record. */
  frames: readonly string[];
  isComplete: boolean;
  onTab: (tab: Tab) => void;
}

/** A record, and the frames that it became in each dialect. */
export function RecordDetail({ run, record, records, frames, isComplete, onTab }: Props) {
  const at = records.indexOf(record);
  return (
    <div class="record">
      <header>
        <button type="button" class="quiet" onClick={() => onTab('state')}><Icon name="clock" /> State here</button>
        <button type="button" class="quiet" onClick={() => onTab('wire')}><Icon name="panel" /> On the wire</button>
        <Copy label="Copy a link to this record" text={() => location.href}>Link</Copy>
        <Copy label="Copy the record" text={() => JSON.stringify(record, null, 2)}>Copy</Copy>
      </header>
      <Json value={record} open={3} />
      <h4>What it became in each dialect</h4>
      {isComplete ? (
        <dl class="became">
          {DIALECTS.slice(1).map(([dialect, about]) => (
            <BecameRow key={dialect} run={run} dialect={dialect} about={about} record={record} own={cursorOf(frames[at])} before={cursorOf(frames[at - 1])} />
          ))}
        </dl>
      ) : (
        <p class="soft">The frames are shown when the run waits or has ended.</p>
      )}
    </div>
  );
}

function BecameRow({ run, dialect, about, record, own, before }: { run: string; dialect: string; about: string; record: NativeRecord; own: string | undefined; before: string | undefined }) {
  const [became, setBecame] = useState<Became | HeadwaterError>();
  useEffect(() => {
    if (!own) return;
    const controller = new AbortController();
    const read = () =>
      void framesOfRecord(run, dialect, record, before, own, controller.signal).then(
        (found) => !controller.signal.aborted && setBecame(found),
        (error: unknown) => !controller.signal.aborted && setBecame(asProblem(error)),
      );
    // Once the record itself is drawn: a browser has six connections to a server, and these take all of them.
    const timer = setTimeout(read, 60);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [run, dialect, record.seq, own, before]);
  const frames = became && 'frames' in became ? became.frames : [];
  const state = !became ? '…' : !('frames' in became) ? became.message : frames.length === 0 ? 'nothing' : became.isPart ? 'a part of 1 frame' : plural(frames.length, 'frame');
  return (
    <div class={frames.length === 0 ? 'none' : ''}>
      <dt title={about}>{dialect} <span class="soft">{state}</span></dt>
      {frames.length > 0 && <dd>{frames.map((frame, at) => <div key={at} class="frame"><RawFrame text={frame} before={undefined} /></div>)}</dd>}
    </div>
  );
}
