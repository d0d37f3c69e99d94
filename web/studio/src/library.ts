// What the rail shows: sessions of all agents, their runs, and what waits for the person.

import type { HeadwaterError, Session, WaitingInterrupt } from '@headwater/client';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { listAgents, listInterrupts, listRuns, listSessions, type Agent, type Run } from './api';

export interface SessionRow extends Session {
  agent: string;
  state: Run['status'] | undefined;
}

export interface Library {
  defaultAgent: string;
  agents: readonly Agent[];
  sessions: readonly SessionRow[];
  interrupts: readonly WaitingInterrupt[];
  runs: readonly Run[];
  /** Why the server could not be asked. */
  error: HeadwaterError | undefined;
  isLoaded: boolean;
}

const EMPTY: Library = { defaultAgent: '', agents: [], sessions: [], interrupts: [], runs: [], error: undefined, isLoaded: false };

class LibraryStore {
  state = EMPTY;
  onChange: () => void = () => {};
  #seen = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #loading: Promise<void> | undefined;
  #again = false;

  /** Asks the server for everything; requests in the meantime cause one more afterwards. */
  refresh(): Promise<void> {
    this.#seen = '';
    return this.#poll();
  }

  #poll(): Promise<void> {
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
        if (this.#again) this.#timer = setTimeout(() => void this.refresh(), 50);
        else if (document.visibilityState === 'visible') this.#timer = setTimeout(() => void this.#poll(), this.state.error ? 2000 : 3000);
        this.#again = false;
      });
    return this.#loading;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  async #load(): Promise<void> {
    let { agents, defaultAgent, sessions } = this.state;
    if (agents.length === 0 || this.state.error) {
      const listed = await listAgents();
      [agents, defaultAgent] = [listed.agents, listed.default ?? ''];
    }
    const [runs, interrupts] = await Promise.all([listRuns(), listInterrupts()]);
    // Sessions change only with their runs.
    const seen = runs.map(({ id, status }) => `${id} ${status}`).join();
    const isActive = sessions.some(({ activeRun }) => activeRun);
    if (seen !== this.#seen || isActive || this.state.error || !this.state.isLoaded) {
      const states = new Map(runs.map(({ id, status }) => [id, status]));
      const lists = await Promise.all(agents.map(async ({ name }) => (await listSessions(name)).map((session) => ({ ...session, agent: name }))));
      sessions = lists
        .flat()
        .filter(({ turns, lastRun, activeRun }) => turns > 0 || lastRun || activeRun)
        .map((session) => ({ ...session, state: session.waitingRun ? 'waiting' : session.activeRun ? 'running' : session.lastRun ? states.get(session.lastRun) : undefined }) as SessionRow)
        .sort((a, b) => b.updatedAt.localeCompare(a.updatedAt));
      this.#seen = seen;
    }
    this.#set({ agents, defaultAgent, sessions, interrupts, runs, error: undefined, isLoaded: true });
  }

  #set(change: Partial<Library>): void {
    this.state = { ...this.state, ...change };
    this.onChange();
  }
}

/** The library, kept up to date while the page is visible. */
export function useLibrary(): [Library, () => void] {
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
  return [store.state, () => void store.refresh()];
}
