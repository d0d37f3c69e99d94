// What the rail shows: sessions of all agents, their runs, and what waits for the person.

import type { HeadwaterError, Session, WaitingInterrupt } from '@headwater/client';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { listAgents, listInterrupts, listRuns, listSessions, type Agent, type Listed, type Run } from './api';

export interface SessionRow extends Session {
  agent: string;
  state: Run['status'] | undefined;
}

export interface Library {
  defaultAgent: string;
  agents: readonly Agent[];
  sessions: readonly SessionRow[];
  hasMoreSessions: boolean;
  interrupts: readonly WaitingInterrupt[];
  hasMoreInterrupts: boolean;
  runs: readonly Run[];
  /** Why the server could not be asked. */
  error: HeadwaterError | undefined;
  isLoaded: boolean;
}

const EMPTY: Library = { defaultAgent: '', agents: [], sessions: [], hasMoreSessions: false, interrupts: [], hasMoreInterrupts: false, runs: [], error: undefined, isLoaded: false };

/** How many entries are read at first, and how many more each time a person asks for more. */
const SESSIONS = { first: 40, more: 200 };
const INTERRUPTS = { first: 200, more: 500 };

/** How often a page that is looked at asks, and how soon again after a failure, in milliseconds. */
const EVERY = 3000;
const AGAIN = 2000;

export class LibraryStore {
  state = EMPTY;
  onChange: () => void = () => {};
  #sessions = new Map<string, Listed<Session>>();
  /** The runs of each agent when its sessions were read. */
  #seen = new Map<string, string>();
  #wantedSessions = SESSIONS.first;
  #wantedInterrupts = INTERRUPTS.first;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #loading: Promise<void> | undefined;
  #again = false;

  /** Asks the server for everything. */
  refresh(): Promise<void> {
    this.#seen.clear();
    return this.poll();
  }

  moreSessions(): Promise<void> {
    this.#wantedSessions += SESSIONS.more;
    return this.refresh();
  }

  moreInterrupts(): Promise<void> {
    this.#wantedInterrupts += INTERRUPTS.more;
    return this.poll();
  }

  /** Asks what has changed; requests in the meantime cause one more afterwards. */
  poll(): Promise<void> {
    if (this.#loading) {
      this.#again = true;
      return this.#loading;
    }
    clearTimeout(this.#timer);
    this.#loading = this.#load()
      .catch((error: unknown) => this.#set({ error: error as HeadwaterError }))
      .finally(() => {
        this.#loading = undefined;
        clearTimeout(this.#timer);
        // A page that is not looked at does not ask.
        if (this.#again) this.#timer = setTimeout(() => void this.poll(), 50);
        else if (document.visibilityState === 'visible') this.#timer = setTimeout(() => void this.poll(), this.state.error ? AGAIN : EVERY);
        this.#again = false;
      });
    return this.#loading;
  }

  stop(): void {
    this.onChange = () => {};
    clearTimeout(this.#timer);
  }

  async #load(): Promise<void> {
    let { agents, defaultAgent } = this.state;
    if (agents.length === 0 || this.state.error) {
      const listed = await listAgents();
      [agents, defaultAgent] = [listed.agents, listed.default ?? ''];
    }
    const [runs, interrupts] = await Promise.all([listRuns(), listInterrupts(this.#wantedInterrupts)]);
    const states = new Map(runs.map(({ id, status }) => [id, status]));
    await Promise.all(agents.map(({ name }) => this.#loadSessions(name, runs, states)));
    const lists = agents.flatMap(({ name: agent }) => (this.#sessions.get(agent)?.items ?? []).map((session) => ({ ...session, agent, state: stateOf(session, states) })));
    const sessions = lists.filter(({ turns, lastRun, activeRun }) => turns > 0 || lastRun || activeRun).sort((a, b) => b.updatedAt.localeCompare(a.updatedAt));
    const hasMoreSessions = agents.some(({ name }) => this.#sessions.get(name)?.hasMore);
    this.#set({ agents, defaultAgent, sessions, hasMoreSessions, interrupts: interrupts.items, hasMoreInterrupts: interrupts.hasMore, runs, error: undefined, isLoaded: true });
  }

  /** Reads the sessions of an agent, if they may have changed: they change with their runs. */
  async #loadSessions(agent: string, runs: readonly Run[], states: ReadonlyMap<string, Run['status']>): Promise<void> {
    const now = runs.flatMap((run) => (run.agent === agent ? [`${run.id} ${run.status}`] : [])).join();
    const held = this.#sessions.get(agent)?.items ?? [];
    // A run is known to have ended a moment before its session is, and an old run is not among the newest.
    const isBehind = held.some(({ activeRun }) => activeRun !== null && !/^(running|waiting)$/.test(states.get(activeRun) ?? ''));
    if (this.#seen.get(agent) === now && !isBehind) return;
    const listed = await listSessions(agent, this.#wantedSessions);
    this.#sessions.set(agent, listed);
    this.#seen.set(agent, now);
  }

  #set(change: Partial<Library>): void {
    this.state = { ...this.state, ...change };
    this.onChange();
  }
}

function stateOf({ waitingRun, activeRun, lastRun }: Session, states: ReadonlyMap<string, Run['status']>): Run['status'] | undefined {
  return states.get(waitingRun ?? activeRun ?? lastRun ?? '') ?? (waitingRun ? 'waiting' : activeRun ? 'running' : undefined);
}

/** The library, kept up to date while the page is visible. */
export function useLibrary(): [Library, LibraryStore] {
  const store = useMemo(() => new LibraryStore(), []);
  const [, draw] = useState({});
  useEffect(() => {
    store.onChange = () => draw({});
    const look = () => document.visibilityState === 'visible' && void store.refresh();
    document.addEventListener('visibilitychange', look);
    window.addEventListener('online', look);
    void store.refresh();
    return () => {
      store.stop();
      document.removeEventListener('visibilitychange', look);
      window.removeEventListener('online', look);
    };
  }, [store]);
  return [store.state, store];
}
