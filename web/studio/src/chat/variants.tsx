// The turns that were done in place of one another: answered again, or with an edited message.

import type { Message } from '@headwater/client';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../api';
import { runOf } from '../format';

interface Checkpoint {
  id: string;
  run: string;
  turn: number;
}

export interface Variant {
  checkpoint: Checkpoint;
  selected: boolean;
}

/** Older turns are not asked for: each is a request. */
const TURNS = 20;

/** The variants of the turns that are shown, by run. A turn that was done once has none. */
export function useVariants(session: string, messages: readonly Message[], isActive: boolean): ReadonlyMap<string, readonly Variant[]> {
  const [variants, setVariants] = useState<ReadonlyMap<string, readonly Variant[]>>(new Map());
  const runs = [...new Set(messages.flatMap(({ id, role }) => (role === 'user' ? [] : [runOf(id) ?? []].flat())))].slice(-TURNS);
  useEffect(() => {
    if (isActive || runs.length === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isCurrent = true;
    const read = (attempts: number) =>
      void readVariants(session, runs).then(({ found, isComplete }) => {
        if (!isCurrent) return;
        setVariants(found);
        // A turn has its checkpoint a moment after its run has ended.
        if (!isComplete && attempts > 1) timer = setTimeout(() => read(attempts - 1), 400);
      }, () => {});
    read(5);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [session, runs.join(), isActive]);
  return variants;
}

async function readVariants(session: string, runs: readonly string[]): Promise<{ found: Map<string, readonly Variant[]>; isComplete: boolean }> {
  const path = `sessions/${encodeURIComponent(session)}/checkpoints`;
  const { checkpoints } = await api<{ checkpoints: Checkpoint[] }>(`${path}?limit=100`);
  const entries = await Promise.all(
    runs.map(async (run) => {
      // A run that was answered has several turns; its message began the first.
      const first = checkpoints.findLast((checkpoint) => checkpoint.run === run);
      if (!first) return undefined;
      const { variants } = await api<{ variants: Variant[] }>(`${path}/${encodeURIComponent(first.id)}/variants`);
      return variants.length > 1 ? ([run, variants] as const) : undefined;
    }),
  );
  const isComplete = runs.every((run) => checkpoints.some((checkpoint) => checkpoint.run === run));
  return { found: new Map(entries.filter((entry) => entry !== undefined)), isComplete };
}

/** ‹ 2 / 3 › */
export function VariantPicker({ variants, onSelect }: { variants: readonly Variant[]; onSelect: (checkpoint: string) => void }) {
  const at = variants.findIndex(({ selected }) => selected);
  const go = (to: number) => {
    const variant = variants[to];
    if (variant) onSelect(variant.checkpoint.id);
  };
  return (
    <span class="variants" role="group" aria-label={`Variant ${at + 1} of ${variants.length}`}>
      <button type="button" class="quiet" aria-label="Variant before" disabled={at <= 0} onClick={() => go(at - 1)}>‹</button>
      <span>{at + 1}/{variants.length}</span>
      <button type="button" class="quiet" aria-label="Next variant" disabled={at >= variants.length - 1} onClick={() => go(at + 1)}>›</button>
    </span>
  );
}
