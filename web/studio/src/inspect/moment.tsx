import type { NativeRecord } from '@headwater/client';
import { duration } from '../format';
import { gist } from './gist';

/** Picks one of a run's records, by a slider and with buttons. */
export function Moment({ records, at, onMove }: { records: readonly NativeRecord[]; at: number; onMove: (at: number) => void }) {
  const record = records[at];
  if (!record) return null;
  const start = records[0]?.time ?? 0;
  return (
    <div class="moment">
      <div class="cursor">
        <button type="button" class="quiet" aria-label="Record before" disabled={at === 0} onClick={() => onMove(at - 1)}>‹</button>
        <input
          type="range"
          aria-label="Cursor"
          aria-valuetext={`record ${record.seq}, ${record.event.type}`}
          min={0}
          max={records.length - 1}
          value={at}
          onInput={(event) => onMove(Number(event.currentTarget.value))}
        />
        <button type="button" class="quiet" aria-label="Next record" disabled={at === records.length - 1} onClick={() => onMove(at + 1)}>›</button>
      </div>
      <p class="here">
        <span class="seq">record {record.seq}</span>
        <span class="time">+{duration((record.time ?? start) - start)}</span>
        <strong>{record.event.type}</strong>
        <span class="gist">{gist(record)}</span>
      </p>
    </div>
  );
}
