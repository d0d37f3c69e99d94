import type { NativeRecord } from '@headwater/client';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { readCheckpoint, listCheckpoints, type CheckpointDetails } from '../api';

/** The newest checkpoint at a place of a run. */
export interface FoundCheckpoint {
  session: string;
  id: string;
  turn: number | undefined;
  /** Of the turn before: the run had none yet. */
  isEarlier: boolean;
  /** Absent until the server has answered. */
  details: CheckpointDetails | undefined;
}

/** The newest checkpoint at or before a record, that of the turn before the run included. */
export function useCheckpoint(records: readonly NativeRecord[], at: number, run: string, session: string | undefined): FoundCheckpoint | undefined {
  const own = useMemo(() => records.flatMap(({ event }, place) => (event.type === 'checkpoint' ? { ...event, place } : [])), [records]);
  const newest = own.findLast(({ place }) => place <= at);
  const first = own[0];
  const cache = useRef(new Map<string, CheckpointDetails>());
  const [read, setRead] = useState<{ key: string; session: string; details: CheckpointDetails | undefined }>();
  const of = first?.session ?? session;
  const key = newest ? newest.checkpoint : `before ${first?.checkpoint ?? ''}`;
  useEffect(() => {
    if (!of) return;
    let isCurrent = true;
    const details = async (id: string) => {
      const known = cache.current.get(id) ?? (await readCheckpoint(of, id));
      cache.current.set(id, known);
      return known;
    };
    const find = async () => {
      if (newest) return details(newest.checkpoint);
      // A run that has none yet continues from where the session stands.
      const id = first ? (await details(first.checkpoint)).checkpoint?.parent : (await listCheckpoints(of, 1)).find((checkpoint) => checkpoint.run !== run)?.id;
      return id ? details(id) : undefined;
    };
    // One that was rolled back or is too old is unknown.
    void find()
      .catch(() => undefined)
      .then((found) => isCurrent && setRead({ key, session: of, details: found }));
    return () => void (isCurrent = false);
  }, [key, of, run]);
  const details = read?.key === key ? read.details : undefined;
  if (newest) return { session: newest.session, id: newest.checkpoint, turn: newest.turn, isEarlier: false, details };
  return details?.checkpoint && read ? { session: read.session, id: details.checkpoint.id, turn: details.checkpoint.turn, isEarlier: true, details } : undefined;
}
