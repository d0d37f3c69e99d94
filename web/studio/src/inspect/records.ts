import { HeadwaterError, type NativeRecord } from '@headwater/client';
import { useEffect, useState } from 'preact/hooks';
import { createPace } from '../pace';
import type { RunFacts } from '../run-facts';
import { eventsPath } from './dialects';
import { cursorOf, readFrames, recordOf } from './frames';

/** Records that arrived together. */
export interface RecordBatch {
  records: NativeRecord[];
  /** The frame of each record, as it was sent. */
  frames: string[];
  bytes: number;
}

export interface RunRecords extends Readonly<RecordBatch> {
  /** The stream was read to the end of the run, or to where the run waits. */
  isComplete: boolean;
  error: HeadwaterError | undefined;
}

const NOTHING: RunRecords = { records: [], frames: [], bytes: 0, isComplete: false, error: undefined };
const END = /^run-(finished|failed|cancelled)$/;

/** Reads a run from its first record, and follows it until it ends. */
export async function followRecords(run: string, signal: AbortSignal, onBatch: (batch: RecordBatch, ended: boolean) => void): Promise<void> {
  let batch: RecordBatch = { records: [], frames: [], bytes: 0 };
  let isEnded = false;
  let attempt = 0;
  let cursor: string | undefined;
  const pace = createPace(() => {
    const taken = batch;
    batch = { records: [], frames: [], bytes: 0 };
    if (!signal.aborted) onBatch(taken, isEnded);
  });
  const take = async (frames: string[], bytes: number): Promise<boolean | void> => {
    batch.bytes += bytes;
    const before = batch.records.length;
    for (const frame of frames) {
      const record = recordOf(frame);
      if (!record) continue;
      batch.records.push(record);
      batch.frames.push(frame);
    }
    const count = batch.records.length - before;
    if (count === 0) return;
    attempt = 0;
    cursor = cursorOf(batch.frames.at(-1)) ?? cursor;
    isEnded = END.test(batch.records.at(-1)?.event.type ?? '');
    if (!isEnded) return pace.arrived(count);
    pace.now();
    return false;
  };
  for (; !signal.aborted; attempt += 1) {
    try {
      await readFrames(eventsPath(run, 'native', { after: cursor, until: 'end' }), signal, take);
      if (isEnded) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof HeadwaterError && !error.retryable) throw error;
    } finally {
      pace.stop();
    }
    if (batch.records.length > 0) pace.now();
    await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 300 * 2 ** Math.min(attempt, 4))));
  }
}

/** The records of a run that has ended, or of one that waits. */
export async function readRecords(run: string, signal: AbortSignal): Promise<NativeRecord[]> {
  const records: NativeRecord[] = [];
  await readFrames(eventsPath(run, 'native', { until: 'wait' }), signal, (frames) => {
    for (const frame of frames) {
      const record = recordOf(frame);
      if (record) records.push(record);
    }
  });
  return records;
}

export function useRecords(run: string | undefined, facts: RunFacts): RunRecords {
  const [state, setState] = useState<RunRecords & { run?: string | undefined }>(NOTHING);
  useEffect(() => {
    setState({ ...NOTHING, run });
    if (!run) return;
    const controller = new AbortController();
    followRecords(run, controller.signal, ({ records, frames, bytes }, ended) => {
      const isComplete = ended || records.at(-1)?.event.type === 'run-waiting';
      facts.add(run, records);
      if (isComplete) facts.changed();
      setState((held) => ({
        ...held,
        records: held.records.concat(records),
        frames: held.frames.concat(frames),
        bytes: held.bytes + bytes,
        isComplete,
      }));
    }).catch((error: HeadwaterError) => setState((held) => ({ ...held, error })));
    return () => controller.abort();
  }, [run]);
  return state.run === run ? state : NOTHING;
}
