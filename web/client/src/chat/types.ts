import type { HeadwaterError } from '../errors.js';
import type { DataEvent, Interrupt, Message, NativeRecord, StatusEvent, Usage } from '../native.js';
import type { ReducerOptions } from '../reduce.js';
import type { StructuredStreamState } from '../structured-write.js';
import type { Chat } from './chat.js';
import type { Connection, FollowOptions } from './follow.js';
import type { HttpOptions } from './http.js';
import type { QueuedMessage } from './session-api.js';
import type { SessionOptions } from './storage.js';

/** A call of a tool that the page executes. */
export interface ToolCallInfo {
  call: string;
  name: string;
  input: unknown;
}

/** How an answer ended. */
export interface FinishInfo {
  /** The message that the run wrote, if it wrote one. */
  message: Message | undefined;
  /** It was stopped. */
  isAbort: boolean;
  /** The connection was lost for good; the run may continue. */
  isDisconnect: boolean;
  isError: boolean;
  finishReason: string | undefined;
}

export interface ChatCallbacks {
  /** Every record of the run, once. */
  onChunk?: ((record: NativeRecord) => void) | undefined;
  /** Data of the application, transient data too. */
  onData?: ((data: DataEvent) => void) | undefined;
  /**
   * A tool that the page executes is called. What it returns, or what its promise gives, is the output; `undefined`
   * leaves it to a later `addToolOutput`. An error that it throws is the tool's error.
   */
  onToolCall?: ((call: ToolCallInfo) => unknown) | undefined;
  /** Anything that went wrong, with a code and a message for people. */
  onError?: ((error: HeadwaterError) => void) | undefined;
  /** The run has ended, or its connection is lost. */
  onFinish?: ((info: FinishInfo) => void) | undefined;
}

export interface ChatOptions extends HttpOptions, FollowOptions, ReducerOptions, SessionOptions, ChatCallbacks {
  /** Tools that the page executes, by name. */
  tools?: Record<string, (input: never, call: ToolCallInfo) => unknown> | undefined;
  /**
   * What keeps the chat in step with other pages while it has subscribers: `watchSession` of `@headwater/client/session`.
   * It returns what ends it. `subscribe` is that of the chat, without counting as a page.
   */
  watch?: ((chat: Chat, subscribe: (listener: () => void) => () => void) => () => void) | undefined;
  /** The shortest time between two snapshots, in milliseconds: 16. */
  flushInterval?: number | undefined;
}

/** `submitted`: sent, nothing has arrived. `streaming`: the run is active. `ready`: it has ended, or waits for an answer. */
export type ChatStatus = 'ready' | 'submitted' | 'streaming' | 'error';

/** Something that the current run waits for. */
export type Waiting =
  | { kind: 'question'; request: string; interrupt: Interrupt }
  | { kind: 'approval'; request: string; call: string; name: string; input: unknown }
  | { kind: 'client-tool'; call: string; name: string; input: unknown };

/** What a page shows. It is immutable; what did not change keeps its identity. */
export interface ChatSnapshot {
  session: string;
  /** The run that is followed, or was last. */
  run: string | undefined;
  status: ChatStatus;
  connection: Connection;
  messages: readonly Message[];
  /** What the run waits for: questions, approvals and tools of the page. */
  waiting: readonly Waiting[];
  /** The messages that wait behind the active run. */
  queue: readonly QueuedMessage[];
  /** Whether there are older messages: see `loadOlder`. */
  hasOlder: boolean;
  structured: Readonly<Record<string, StructuredStreamState>>;
  /** The state that is shared with the page. */
  shared: unknown;
  /** What the run is doing, for an overlay. */
  activity: StatusEvent | undefined;
  usage: Usage | undefined;
  error: HeadwaterError | undefined;
}
