import { HeadwaterError, readEvents, readStream, type NativeRecord } from '@headwater/client';
import { useEffect, useState } from 'preact/hooks';
import { openResponse } from '../api';
import type { RunFacts } from '../run-facts';

export interface RunRecords {
  records: readonly NativeRecord[];
  /** The cursor of each record, by its number. */
  cursors: ReadonlyMap<number, string>;
  /** The stream was read to the end of the run, or to where the run waits. */
  isComplete: boolean;
  error: HeadwaterError | undefined;
}

const NOTHING: RunRecords = { records: [], cursors: new Map(), isComplete: false, error: undefined };
const END = /^run-(finished|failed|cancelled)$/;

/** Reads a run from its first record, and follows it until it ends. */
export async function followRecords(
  run: string,
  signal: AbortSignal,
  onRecords: (records: NativeRecord[], ended: boolean) => void,
  onCursor?: (seq: number, cursor: string) => void,
): Promise<void> {
  let cursor: string | undefined;
  let total = 0;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const response = await openResponse(`/v1/runs/${encodeURIComponent(run)}/events?until=end`, { signal, ...(cursor && { headers: { 'last-event-id': cursor } }) });
      let batch: NativeRecord[] = [];
      let drawn = Date.now();
      let timer: ReturnType<typeof setTimeout> | undefined;
      const flush = (ended = false) => {
        clearTimeout(timer);
        timer = undefined;
        if (batch.length > 0 || ended) onRecords(batch, ended);
        batch = [];
        drawn = Date.now();
      };
      for await (const event of readEvents(response, { signal })) {
        const record = JSON.parse(event.data) as NativeRecord;
        cursor = event.id ?? cursor;
        attempt = 0;
        batch.push(record);
        total += 1;
        if (event.id) onCursor?.(record.seq, event.id);
        if (END.test(record.event.type)) return flush(true);
        if (total === 300 || total % 10_000 === 0) {
          // A run that is read at once leaves no time for timers: the page draws its beginning, and lives. It is drawn again
          // when it is there, since drawing takes longer than reading, or when reading takes long.
          clearTimeout(timer);
          timer = undefined;
          if (total === 300 || Date.now() - drawn > 500) flush();
          await new Promise((resolve) => setTimeout(resolve));
          continue;
        }
        // Each flush draws the whole run anew, so a long run is drawn less often.
        timer ??= setTimeout(flush, Math.max(60, total / 100));
      }
      flush();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof HeadwaterError && !error.retryable) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 300 * 2 ** Math.min(attempt, 4))));
    if (signal.aborted) return;
  }
}

/** The records of a run that has ended, or of one that waits. */
export async function readRecords(run: string, signal: AbortSignal): Promise<NativeRecord[]> {
  const response = await openResponse(`/v1/runs/${encodeURIComponent(run)}/events?until=wait`, { signal });
  const records: NativeRecord[] = [];
  for await (const record of readStream<NativeRecord>(response, { signal })) records.push(record);
  return records;
}

export function useRecords(run: string | undefined, facts: RunFacts): RunRecords {
  const [state, setState] = useState<RunRecords & { run?: string | undefined }>(NOTHING);
  useEffect(() => {
    const cursors = new Map<number, string>();
    setState({ ...NOTHING, cursors, run });
    if (!run) return;
    const controller = new AbortController();
    followRecords(run, controller.signal, (more, ended) => {
      facts.add(run, more);
      setState((held) => ({ ...held, records: held.records.concat(more), isComplete: ended || more.at(-1)?.event.type === 'run-waiting' }));
    }, (seq, cursor) => cursors.set(seq, cursor)).catch((error: HeadwaterError) => setState((held) => ({ ...held, error })));
    return () => controller.abort();
  }, [run]);
  return state.run === run ? state : NOTHING;
}
