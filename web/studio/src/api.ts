// Requests of the studio itself. Conversations go through `createChat`.

import { HeadwaterError, type Message, type Session, type WaitingInterrupt } from '@headwater/client';

export interface Agent {
  name: string;
  description: string | null;
  /** Messages to begin a conversation with. */
  suggestions: string[];
  defaultWorkflow?: string | null;
  workflows?: AgentWorkflow[];
}

export interface AgentWorkflow {
  id: string;
  version: string;
  /** The nearest to the start first. */
  nodes: { name: string; kind: string | null }[];
  /** `null` is the start, or the end. */
  edges: { from: string | null; to: string | null; when: string | null }[];
}

export interface Run {
  id: string;
  agent: string;
  workflow: string;
  version?: string;
  status: 'running' | 'waiting' | 'finished' | 'failed' | 'cancelled';
  error: string | null;
  /** The beginning of what the person wrote, if the agent shows it. */
  input?: string | null;
  model: string | null;
  usage: { inputTokens: number | null; outputTokens: number | null; totalTokens: number | null } | null;
  session: string | null;
  createdAt: string;
  updatedAt: string;
  endedAt: string | null;
}

/** A step of a run as the journal has it, those that no event shows included. */
export interface TraceStep {
  seq: number;
  time: string;
  type: 'node-entered' | 'node-failed' | 'node-left' | 'model-call' | 'tool-call' | 'handed-over' | 'taken-over';
  node: string | null;
  visit: number | null;
  branch: string | null;
  call: { id: string | null; startedAt: string | null; model: string | null; attempts: number | null; usage: Run['usage']; isShown: boolean } | null;
  error: { code: string; message: string } | null;
}

export interface Checkpoint {
  id: string;
  turn: number;
  run: string;
  parent: string | null;
}

export interface CheckpointDetails {
  checkpoint: Checkpoint;
  messages: Message[];
  /** Empty, unless the agent shows it. */
  workflowState: Record<string, unknown>;
}

const KEY = 'headwater studio key';
let key = readKey();
/** How far the server's clock is ahead, in milliseconds. */
let clockAhead = 0;
const unauthorised = new Set<(error: HeadwaterError) => void>();

/** Sent with every request of the page. */
export const headers = (): Record<string, string> => (key ? { authorization: `Bearer ${key}` } : {});
export const hasKey = (): boolean => key !== '';

/** The key is for this tab alone, and goes with it. */
export function setKey(value: string): void {
  key = value.trim();
  try {
    sessionStorage.setItem(KEY, key);
  } catch {
    // Then a reload asks for it again.
  }
}

/** The present time by the clock that wrote the times of the records. */
export const serverNow = (): number => Date.now() + clockAhead;

/** Calls the listener when the server asks for a key. */
export function onUnauthorised(listener: (error: HeadwaterError) => void): () => void {
  unauthorised.add(listener);
  return () => void unauthorised.delete(listener);
}

export function reportError(error: HeadwaterError): void {
  if (error.status === 401) for (const listener of unauthorised) listener(error);
}

/** The JSON of a route under `/v1`. Whatever goes wrong is a `HeadwaterError`. */
export async function api<T>(path: string, { method = 'GET', body, timeout = 15_000 }: { method?: string; body?: unknown; timeout?: number } = {}): Promise<T> {
  const response = await openResponse(`/v1/${path}`, {
    method,
    signal: AbortSignal.timeout(timeout),
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text().catch(() => '');
  try {
    return (text ? JSON.parse(text) : undefined) as T;
  } catch {
    throw new HeadwaterError('http.invalid', 'The response is not JSON: another server answers at this address.');
  }
}

/** A response whose status is good. */
export async function openResponse(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers: { ...headers(), ...(init.headers as Record<string, string>) } });
  } catch (error) {
    const timeout = error instanceof DOMException && error.name === 'TimeoutError';
    throw timeout
      ? new HeadwaterError('timeout', 'The server does not respond.', { retryable: true })
      : new HeadwaterError('network', 'The server cannot be reached.', { retryable: true, cause: error });
  }
  noteClock(response.headers.get('date'));
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { error?: string; code?: string };
  const error = new HeadwaterError(body.code ?? `http.${response.status}`, body.error ?? `The server responded with ${response.status}.`, {
    status: response.status,
    retryable: response.status === 429 || response.status >= 500,
  });
  reportError(error);
  throw error;
}

/** The header has whole seconds: less than that is no difference. */
function noteClock(date: string | null): void {
  const ahead = Date.parse(date ?? '') - Date.now();
  if (!Number.isNaN(ahead)) clockAhead = Math.abs(ahead) < 2000 ? 0 : ahead;
}

/** The first entries of a list, in as many pages as they take. */
export interface Listed<T> {
  items: T[];
  hasMore: boolean;
}

async function listUpTo<T>(path: string, name: string, wanted: number): Promise<Listed<T>> {
  const items: T[] = [];
  let after: string | null | undefined;
  do {
    const query = `limit=${Math.min(500, wanted - items.length)}${after ? `&after=${encodeURIComponent(after)}` : ''}`;
    const page = await api<{ next?: string | null } & Record<string, unknown>>(`${path}${path.includes('?') ? '&' : '?'}${query}`);
    items.push(...(page[name] as T[]));
    after = page.next;
  } while (after && items.length < wanted);
  return { items, hasMore: !!after };
}

export const listAgents = () => api<{ agents: Agent[]; default: string | null }>('agents');
export const listRuns = (query = 'limit=100') => api<{ runs: Run[] }>(`runs?${query}`).then(({ runs }) => runs);
export const listInterrupts = (wanted: number) => listUpTo<WaitingInterrupt>('interrupts', 'interrupts', wanted);
export const listSessions = (agent: string, wanted: number) => listUpTo<Session>(`sessions?agent=${encodeURIComponent(agent)}`, 'sessions', wanted);
export const readRun = (run: string) => api<{ run: Run; waitsFor: WaitingInterrupt[] }>(`runs/${encodeURIComponent(run)}`);

/** The steps of a run after a record, as many as there are so far, and the last record that was looked at. */
export async function readTrace(run: string, after: number): Promise<{ steps: TraceStep[]; last: number }> {
  const steps: TraceStep[] = [];
  for (let last = after; ; ) {
    const page = await api<{ steps: TraceStep[]; last: number; hasMore: boolean }>(`runs/${encodeURIComponent(run)}/trace?limit=500&after=${last}`);
    steps.push(...page.steps);
    last = page.last;
    if (!page.hasMore) return { steps, last };
  }
}

/** The messages of a session, the oldest first. */
export async function listMessages(session: string): Promise<Message[]> {
  const messages: Message[] = [];
  for (let before: number | null | undefined; ; ) {
    const page: { messages: Message[]; before: number | null } = await api(`sessions/${encodeURIComponent(session)}/messages?limit=500${before ? `&before=${before}` : ''}`);
    messages.unshift(...page.messages);
    before = page.before;
    if (!before) return messages;
  }
}

const checkpointsOf = (session: string) => `sessions/${encodeURIComponent(session)}/checkpoints`;
/** The newest first. */
export const listCheckpoints = (session: string, limit: number) => api<{ checkpoints: Checkpoint[] }>(`${checkpointsOf(session)}?limit=${limit}`).then(({ checkpoints }) => checkpoints);
export const readCheckpoint = (session: string, checkpoint: string) => api<CheckpointDetails>(`${checkpointsOf(session)}/${encodeURIComponent(checkpoint)}`);
export const forkCheckpoint = (session: string, checkpoint: string) => api<Session>(`${checkpointsOf(session)}/${encodeURIComponent(checkpoint)}/fork`, { method: 'POST', body: {} });

/** The agent of a session: that of its last run. A session that the server does not know has none. */
export async function agentOf(session: string): Promise<string | undefined> {
  const path = `sessions/${encodeURIComponent(session)}`;
  try {
    const { lastRun, activeRun } = await api<Session>(path);
    const run = activeRun ?? lastRun;
    return run ? (await readRun(run)).run.agent : undefined;
  } catch {
    return undefined;
  }
}

function readKey(): string {
  try {
    return sessionStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}
