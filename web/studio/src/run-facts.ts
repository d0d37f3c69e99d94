import type { NativeRecord } from '@headwater/client';

/** What a message does not have: times, and the attempts that failed. */
export interface Facts {
  startedAt?: number;
  endedAt?: number;
  /** When the input of a call was complete, and when its output was there. */
  tools: Record<string, { from: number; to?: number }>;
  /** When a block of reasoning began and ended, by its id. */
  thoughts: Record<string, { from: number; to?: number }>;
  retracted: { attempt: string; reason: string }[];
  isStopped?: boolean;
}

/** Facts by run, from the records that the page happened to read. */
export class RunFacts {
  #runs = new Map<string, Facts>();
  #listeners = new Set<() => void>();

  /** Calls the listener when a run was read to its end. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  of(run: string | undefined): Facts | undefined {
    return run === undefined ? undefined : this.#runs.get(run);
  }

  add(run: string, records: readonly NativeRecord[]): void {
    let facts = this.#runs.get(run);
    if (!facts) this.#runs.set(run, (facts = { tools: {}, thoughts: {}, retracted: [] }));
    for (const { event, time } of records) {
      if (event.type === 'run-cancelled') facts.isStopped = true;
      if (event.type === 'attempt-retracted' && !facts.retracted.some(({ attempt }) => attempt === event.attempt)) {
        facts.retracted.push({ attempt: event.attempt, reason: event.reason ?? '' });
      }
      if (time === undefined) continue;
      switch (event.type) {
        case 'run-started':
          facts.startedAt ??= time;
          break;
        case 'run-finished':
        case 'run-failed':
        case 'run-cancelled':
          facts.endedAt ??= time;
          break;
        case 'tool-input-available':
          facts.tools[event.call] ??= { from: time };
          break;
        case 'approval-answered':
          // A person's time is not the tool's.
          if (event.call && facts.tools[event.call]) facts.tools[event.call] = { from: time };
          break;
        case 'tool-output':
        case 'tool-output-error': {
          const tool = facts.tools[event.call];
          if (tool) tool.to ??= time;
          break;
        }
        case 'block-started':
          if (event.kind === 'reasoning') facts.thoughts[event.id] ??= { from: time };
          break;
        case 'block-ended': {
          const thought = event.kind === 'reasoning' ? facts.thoughts[event.id] : undefined;
          if (thought) thought.to ??= time;
          break;
        }
      }
    }
  }
}
