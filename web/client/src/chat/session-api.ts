import type { Message } from '../native.js';

/** A session of the server. */
export interface Session {
  id: string;
  label: string | null;
  createdAt: string;
  updatedAt: string;
  turns: number;
  checkpoint: string | null;
  forkedFrom: { session: string; checkpoint: string } | null;
  lastRun: string | null;
  activeRun: string | null;
  waitingRun: string | null;
  queued: number;
}

/** A page of messages, oldest first; `before` names the page of older ones. */
export interface MessagePage {
  messages: Message[];
  before: number | null;
}

/** A message that waits behind the active run. It is named by the run that will answer it. */
export interface QueuedMessage {
  run: string;
  checkpoint: string;
  text: string;
  message: Message;
  label: string | null;
  queuedAt: string;
}

/** The state of a session after a turn. */
export interface Checkpoint {
  id: string;
  session: string;
  turn: number;
  label: string | null;
  createdAt: string;
  run: string;
  parent: string | null;
  status: 'finished' | 'waiting' | 'failed' | 'cancelled';
  workflow: string;
  position: string[];
  requests: string[];
}

/** One of several turns that were done in place of one another. */
export interface Variant {
  checkpoint: Checkpoint;
  /** Whether the conversation continues from it. */
  selected: boolean;
}

/** Something that waits for a person or a page, in any run of the caller. */
export interface WaitingInterrupt {
  request: string;
  run: string;
  session: string | null;
  node: string;
  askedAt: string;
  expiresAt: string;
  token: string | null;
  kind: 'question' | 'approval' | 'client-tool';
  interrupt: unknown;
  tool: { call: string; name: string } | null;
  input: unknown;
}

/** A turn that was sent. */
export interface TurnSent {
  run: string;
  queued: boolean;
  repeated: boolean;
}
