// The native wire of Headwater: see docs/native.md.
// Written from the Rust types by `HEADWATER_BLESS=1 cargo nextest run -p xtask`; do not edit it.

/** A record on the wire: the `data:` of an SSE frame, or a line of NDJSON. */
export type NativeRecord = {
  /** The version of the format, in the frame of `run-started`. */
  version?: number;
  /** Number of the record in its run. It increases, with gaps. */
  seq: number;
  /** When it was recorded, in milliseconds since 1970. */
  time?: number;
  /** The workflow node. */
  node?: string;
  /** Number of this execution of the node, from 1. */
  visit?: number;
  /** The parallel branch. */
  branch?: string;
  /** The hook call within the node. */
  operation?: string;
  /** The segment of the hook's output. */
  segment?: string;
  /** The attempt of the model call. */
  attempt?: AttemptId;
  /** The message of the event; if absent, the message that started last. */
  message?: MessageId;
  /** Set on the records that rebuild the current state: a reader drops its state at the first of them. */
  replay?: boolean;
  event: Event;
  /** The cursor of the record, on a line of NDJSON. In SSE it is the `id:` of the frame. */
  cursor?: string;
};

/** One attempt of a model call; its output is retracted if it fails. */
export type AttemptId = string;

/** One message of a conversation. */
export type MessageId = string;

/** One event of a run. */
export type Event =
  /** The run began. */
  | { type: "run-started" } & RunStarted
  /** The run finished. */
  | { type: "run-finished" } & RunFinished
  /** The run failed. */
  | { type: "run-failed" } & ErrorInfo
  /** The run was cancelled. */
  | {
    type: "run-cancelled";
    /** Who or what cancelled it. */
    reason?: string;
  }
  /** The run waits for an answer of the user, or for the result of a tool that the page runs. */
  | { type: "run-waiting" } & RunWaiting
  /** An attempt of a model call begins. Its output belongs to this attempt. */
  | { type: "attempt-started" } & AttemptStarted
  /** The attempt succeeded; its output will not be retracted. */
  | {
    type: "attempt-finished";
    /** Id of the attempt. */
    attempt: AttemptId;
  }
  /** The attempt failed; its output is retracted. */
  | { type: "attempt-retracted" } & AttemptRetracted
  /** A message begins or continues. */
  | { type: "message-started" } & MessageStarted
  /** The message is complete. */
  | {
    type: "message-finished";
    /** Id of the message. */
    message: MessageId;
  }
  /** Metadata to merge into the message. */
  | {
    type: "message-metadata";
    /** A JSON object. */
    metadata: unknown;
  }
  /** A complete message of a node. */
  | {
    type: "message";
    /** The text. */
    content: string;
  }
  /** A step of the run begins: one model call and its tool calls. */
  | {
    type: "step-started";
    /** Name of the step. */
    name?: string;
  }
  /** The step ended. */
  | {
    type: "step-finished";
    /** Name of the step. */
    name?: string;
  }
  /** A text or reasoning block begins. */
  | { type: "block-started" } & BlockStarted
  /** Text to append to a block. */
  | { type: "block-delta" } & BlockDelta
  /** The block is complete. */
  | { type: "block-ended" } & BlockEnded
  /** The model begins the input of a tool call. */
  | { type: "tool-input-start" } & ToolCall
  /** Input of a tool call to append, as JSON text. */
  | { type: "tool-input-delta" } & ToolInputDelta
  /** The input is complete. */
  | { type: "tool-input-available" } & ToolInputAvailable
  /** The input is invalid for the tool. */
  | { type: "tool-input-error" } & ToolInputError
  /** The user is asked to approve a call. */
  | { type: "approval-requested" } & ApprovalRequested
  /** The approval was granted or denied. */
  | { type: "approval-answered" } & ApprovalAnswered
  /** The output of a tool. */
  | { type: "tool-output" } & ToolOutput
  /** The tool could not run, or failed. */
  | { type: "tool-output-error" } & ToolOutputError
  /** The user denied the call, so it was not made. */
  | { type: "tool-denied" } & ToolDenied
  /** A web page that the answer cites. */
  | { type: "source-url" } & SourceUrl
  /** A document that the answer cites. */
  | { type: "source-document" } & SourceDocument
  /** A file at a URL, which may be a `data:` URL. */
  | { type: "file" } & FileEvent
  /** Application data. */
  | { type: "data" } & DataEvent
  /** An update of an object that is streamed. */
  | { type: "structured" } & StructuredUpdate
  /** A structured stream is no longer valid. */
  | { type: "structured-invalidated" } & StructuredInvalidated
  /** The state shared with the page is replaced. */
  | {
    type: "state-snapshot";
    /** The complete state. */
    state: unknown;
  }
  /** The state shared with the page changes. */
  | {
    type: "state-delta";
    /** JSON Patch operations. */
    patch: Array<unknown>;
  }
  /** The complete conversation: messages are replaced by id, unknown ones added, missing ones removed. */
  | {
    type: "messages-snapshot";
    /** The complete conversation. */
    messages: Array<Message>;
  }
  /** The user is asked a question. */
  | { type: "interrupt-requested" } & Interrupt
  /** The user answered a question. */
  | { type: "interrupt-answered" } & InterruptAnswered
  /** A question expired without an answer. */
  | {
    type: "interrupt-expired";
    /** Id of the question. */
    request: RequestId;
  }
  /** The current activity of the run, for a status line. */
  | { type: "status" } & StatusEvent
  /** The run continues in another workflow. */
  | { type: "transition" } & TransitionEvent
  /** The session's state after this turn was saved. */
  | { type: "checkpoint" } & CheckpointEvent
  /** Token usage so far. */
  | { type: "usage" } & Usage
  /** A request was not fully honoured. */
  | { type: "warning" } & WarningEvent
  /** An error occurred. */
  | { type: "error" } & ErrorEvent
  /** The run's trace in a tracing system. */
  | { type: "trace" } & TraceEvent
  /** A chunk of a dialect that has no equivalent here, kept unchanged. */
  | { type: "unknown" } & UnknownEvent;

/** One execution of an agent. */
export type RunId = string;

/** A conversation of several runs. */
export type SessionId = string;

/** A run began. */
export type RunStarted = {
  /** Id of the run. */
  run?: RunId;
  /** Id of the session. */
  session?: SessionId;
  /** The page's own id of the session, if it has one. */
  conversation?: string;
  /** The run that this one continues. */
  parent?: RunId;
  /** Name of the workflow. */
  workflow?: string;
  /** Name of the model. */
  model?: string;
  /** Id of the HTTP request that started the run. */
  request?: string;
  /** Path of the HTTP request. */
  endpoint?: string;
};

/**
 * Why a model stopped.
 *
 * Serialized as one word: one of the common reasons, or the provider's own.
 */
export type FinishReason = string;

/** Token usage. */
export type Usage = {
  /** Input tokens. */
  inputTokens?: number;
  /** Output tokens. */
  outputTokens?: number;
  /** Total as counted by the provider. */
  totalTokens?: number;
  /** Reasoning tokens, included in the output. */
  reasoningTokens?: number;
  /** Input tokens read from a cache. */
  cachedInputTokens?: number;
  /** Input tokens written to a cache. */
  cacheWriteTokens?: number;
};

/** The run finished. */
export type RunFinished = {
  /** Why it ended, if a model gave a reason. */
  reason?: FinishReason;
  /** Token usage of the whole run. */
  usage?: Usage;
  /** Result of the run. */
  data?: unknown;
};

/** An error as shown to a page. */
export type ErrorInfo = {
  /** Human-readable message. */
  message: string;
  /** Stable error code. */
  code?: string;
  /** Whether a retry may succeed. */
  retryable?: boolean;
  /**
   * Id of the HTTP request that started the run, to find more in the log. Only the journal has a field
   * for it.
   */
  request?: string;
};

/** One call of a tool. */
export type ToolCallId = string;

/** The run waits for an answer of the user, or for the result of a tool that the page runs. */
export type RunWaiting = {
  /** Calls whose results the page must send. */
  toolCalls?: Array<ToolCallId>;
  /** Token usage so far. */
  usage?: Usage;
};

/** An attempt of a model call begins. Its output belongs to this attempt. */
export type AttemptStarted = {
  /** Id of the attempt, repeated in the origin of its records. */
  attempt: AttemptId;
  /** The model that is called. */
  model?: string;
};

/** The attempt failed; its output is retracted. */
export type AttemptRetracted = {
  /** Id of the attempt. */
  attempt: AttemptId;
  /** Why it failed. */
  reason?: string;
};

/** The author role of a message. */
export type Role =
  /** Instructions of the operator. */
  | "system"
  /** Instructions of the developer, if the dialect distinguishes them from the operator's. */
  | "developer"
  /** The user. */
  | "user"
  /** The agent. */
  | "assistant"
  /** A separate message with a tool's output. */
  | "tool"
  /** A separate message with reasoning (AG-UI). */
  | "reasoning"
  /** A separate message with application progress (AG-UI). */
  | "activity";

/** A message begins or continues. */
export type MessageStarted = {
  /** Id of the message. */
  message: MessageId;
  /** Role of the author. */
  role: Role;
  /** The author in the dialect's own form: a name or an object. */
  author?: unknown;
};

/** The content of a block. */
export type BlockKind =
  /** Text of the answer. */
  | "text"
  /** Reasoning of the model. */
  | "reasoning";

/** One text or reasoning block of a message. */
export type PartId = string;

/** A text or reasoning block begins. */
export type BlockStarted = {
  /** Content of the block. Blocks of different kinds may share an id. */
  kind: BlockKind;
  /** Id of the block. */
  id: PartId;
  /** Provider-specific metadata. */
  metadata?: unknown;
};

/** Text to append to a block. */
export type BlockDelta = {
  /** Content of the block. */
  kind: BlockKind;
  /** Id of the block. */
  id: PartId;
  /** The text to append. */
  delta: string;
  /** Provider-specific metadata. */
  metadata?: unknown;
};

/** The block is complete. */
export type BlockEnded = {
  /** Content of the block. */
  kind: BlockKind;
  /** Id of the block. */
  id: PartId;
  /** Provider-specific metadata. */
  metadata?: unknown;
};

/** Who runs a tool call. */
export type Executor =
  /** The agent. */
  | "server"
  /** The page. */
  | "client"
  /** The model's provider. */
  | "provider";

/** A tool call and who runs it. */
export type ToolCall = {
  /** Id of the call. */
  call: ToolCallId;
  /** Name of the tool. */
  name: string;
  /** Whether the tool was unknown when the page was built. */
  dynamic?: boolean;
  /** Who runs the tool. */
  executor?: Executor;
  /** Human-readable title. */
  title?: string;
  /** Provider-specific metadata. */
  metadata?: unknown;
  /** Set if the node did not ask to show the call; pages that show calls on demand hide it. */
  quiet?: boolean;
};

/** Input of a tool call to append, as JSON text. */
export type ToolInputDelta = {
  /** Id of the call. */
  call: ToolCallId;
  /** A piece of JSON text. */
  delta: string;
};

/** The input is complete. */
export type ToolInputAvailable = {
  /** Id of the call. */
  call: ToolCallId;
  /** Name of the tool. */
  name: string;
  /** Whether the tool was unknown when the page was built. */
  dynamic?: boolean;
  /** Who runs the tool. */
  executor?: Executor;
  /** Human-readable title. */
  title?: string;
  /** Provider-specific metadata. */
  metadata?: unknown;
  /** Set if the node did not ask to show the call; pages that show calls on demand hide it. */
  quiet?: boolean;
  /** The input; absent if its text is not JSON. */
  input?: unknown;
};

/** The input is invalid for the tool. */
export type ToolInputError = {
  /** Id of the call. */
  call: ToolCallId;
  /** Name of the tool. */
  name: string;
  /** Whether the tool was unknown when the page was built. */
  dynamic?: boolean;
  /** Who runs the tool. */
  executor?: Executor;
  /** Human-readable title. */
  title?: string;
  /** Provider-specific metadata. */
  metadata?: unknown;
  /** Set if the node did not ask to show the call; pages that show calls on demand hide it. */
  quiet?: boolean;
  /** The invalid input. */
  input?: unknown;
  /** Why it is invalid. */
  error: string;
};

/** One request to approve a tool call. */
export type ApprovalId = string;

/** The user is asked to approve a call. */
export type ApprovalRequested = {
  /** Id of the approval request. */
  approval: ApprovalId;
  /** Id of the call. */
  call: ToolCallId;
  /** Name of the tool. */
  name: string;
  /** Whether the tool was unknown when the page was built. */
  dynamic?: boolean;
  /** Who runs the tool. */
  executor?: Executor;
  /** Human-readable title. */
  title?: string;
  /** Provider-specific metadata. */
  metadata?: unknown;
  /** Set if the node did not ask to show the call; pages that show calls on demand hide it. */
  quiet?: boolean;
  /** The exact input to approve. */
  input?: unknown;
  /** Binds the request to the run, the call and its input. */
  signature?: string;
  /** Whether a policy decides instead of the user. */
  automatic?: boolean;
};

/** The approval was granted or denied. */
export type ApprovalAnswered = {
  /** Id of the approval request. */
  approval: ApprovalId;
  /** Id of the call, if the dialect has it. */
  call?: ToolCallId;
  /** Whether the call was approved. */
  approved: boolean;
  /** Reason for the decision. */
  reason?: string;
};

/** The output of a tool. */
export type ToolOutput = {
  /** Id of the call. */
  call: ToolCallId;
  /** Name of the tool, if the dialect has it. */
  name?: string;
  /** The output. */
  output: unknown;
  /** The output as structured content, if the tool returned both. */
  structured?: unknown;
  /** Whether the tool ran and reports a failure. */
  isError?: boolean;
  /** Whether more output of this call follows. */
  preliminary?: boolean;
  /** Provider-specific metadata. */
  metadata?: unknown;
};

/** The tool could not run, or failed. */
export type ToolOutputError = {
  /** Id of the call. */
  call: ToolCallId;
  /** Name of the tool, if the dialect has it. */
  name?: string;
  /** The error message. */
  error: string;
};

/** The user denied the call, so it was not made. */
export type ToolDenied = {
  /** Id of the call. */
  call: ToolCallId;
  /** Name of the tool, if the dialect has it. */
  name?: string;
  /** Reason for the denial. */
  reason?: string;
};

/** A web page that the answer cites. */
export type SourceUrl = {
  /** Id of the source. */
  source: string;
  /** URL of the page. */
  url: string;
  /** Title of the page. */
  title?: string;
  /** The tool call that found it. */
  call?: ToolCallId;
  /** Provider-specific metadata. */
  metadata?: unknown;
};

/** A document that the answer cites. */
export type SourceDocument = {
  /** Id of the source. */
  source: string;
  /** Title of the document. */
  title?: string;
  /** Media type of the document. */
  mediaType?: string;
  /** File name of the document. */
  filename?: string;
  /** The cited passage. */
  text?: string;
  /** The tool call that found it. */
  call?: ToolCallId;
  /** Provider-specific metadata. */
  metadata?: unknown;
};

/** A file at a URL, which may be a `data:` URL. */
export type FileEvent = {
  /** URL of the file. */
  url: string;
  /** Media type of the file. */
  mediaType: string;
  /** Name of the file. */
  filename?: string;
  /** Id of the file, if it has one. */
  id?: string;
  /** Whether it belongs to the reasoning instead of the answer. */
  reasoning?: boolean;
  /** Provider-specific metadata. */
  metadata?: unknown;
};

/** Application data. */
export type DataEvent = {
  /** Kind of data, chosen by the application. */
  name: string;
  /** Data with the same name and id replaces the earlier data. */
  id?: string;
  /** The data. */
  data: unknown;
  /** Shown once; only the clients of some dialects keep it. */
  transient?: boolean;
};

/**
 * One update of a structured stream.
 *
 * Its JSON is flat: `streamId`, `dataType`, `kind`, `path`, then `value`, `items`, `delta` or `data`, and
 * optionally `schemaId`, `schemaVersion`, `id`, `node`. Other keys are ignored when reading.
 */
export type StructuredUpdate = {
  /** Id of the stream; one stream builds one object. */
  streamId: string;
  /** Type of the object, chosen by the application. */
  dataType: string;
  /** The application's own id of the object. */
  id?: string;
  /** The schema of the object. */
  schemaId?: string;
  /** The version of that schema. */
  schemaVersion?: string;
  /** The workflow node that produced it. */
  node?: string;
} & (
  /** Write a value, replacing any earlier one. */
  | {
    kind: "set";
    /** Path of the value. */
    path: string;
    /**
     * The value. Without a value, the path is unset: a key is removed, an array element becomes
     * unwritten. This differs from the value `null`.
     */
    value?: unknown;
  }
  /** Append to an array, or create it. */
  | {
    kind: "append";
    /** Path of the array. */
    path: string;
    /** Items to append. */
    items: Array<unknown>;
  }
  /** Append to a string, or create it. */
  | {
    kind: "text-delta";
    /** Path of the string. */
    path: string;
    /** Text to append. */
    delta: string;
  }
  /** Replace the whole object and end the stream. */
  | {
    kind: "final";
    /** The complete object, if any. */
    data?: unknown;
  }
);

/** The state of a session after a turn. */
export type CheckpointId = string;

/** A structured stream is no longer valid. */
export type StructuredInvalidated = {
  /** Id of the stream. */
  stream: string;
  /** The checkpoint that was rolled back to. */
  checkpoint?: CheckpointId;
};

/** One message of a conversation. */
export type Message = {
  /** Id of the message. */
  id: MessageId;
  /** Role of the author. */
  role: Role;
  /** Progress of the message. */
  status: MessageStatus;
  /** Application metadata. */
  metadata?: unknown;
  /** The author in the dialect's own form. */
  author?: unknown;
  /** The parts in order. */
  parts: Array<Part>;
};

/** Progress of a message. */
export type MessageStatus =
  /** A user's message that is being sent. */
  | "sending"
  /** It is being generated. */
  | "streaming"
  /** It is complete. */
  | "sent"
  /** It was cancelled. */
  | "cancelled"
  /** It failed, or the stream was truncated. */
  | "error";

/** One part of a message. */
export type Part =
  /** Text of the answer. */
  | { type: "text" } & TextPart
  /** Reasoning. */
  | { type: "reasoning" } & TextPart
  /** A tool call with its current state. */
  | { type: "tool" } & ToolPart
  /** A web page that the answer cites. */
  | { type: "source-url" } & SourcePart
  /** A document that the answer cites. */
  | { type: "source-document" } & SourcePart
  /** A file. */
  | { type: "file" } & FilePart
  /** Application data. */
  | { type: "data" } & DataEvent
  /** An object that is streamed. */
  | { type: "structured" } & StructuredPart
  /** A question to the user. */
  | { type: "question" } & QuestionPart
  /** The beginning of a step. */
  | { type: "step-start" }
  /**
   * A part that only its dialect knows. It is serialized as `{"type":"other","value":…}`, because it has
   * its own `type`.
   */
  | {
    type: "other";
    /** The original part. */
    value: unknown;
  };

/** Whether a part may still grow. */
export type PartState =
  /** It may grow. */
  | "streaming"
  /** It is complete. */
  | "done";

/** A text or reasoning block. */
export type TextPart = {
  /** Id of the block. */
  id: PartId;
  /** Text so far. */
  text: string;
  /** Whether it may still grow. */
  state: PartState;
  /** Latest provider-specific metadata. */
  metadata?: unknown;
  /** The attempt that produced it. */
  attempt?: AttemptId;
};

/** The state of a tool call. */
export type ToolState =
  /** The model is generating the input. */
  | "input-streaming"
  /** The input is complete. */
  | "input-available"
  /** The user is asked for approval. */
  | "approval-requested"
  /** The user has decided. */
  | "approval-responded"
  /** The output is available. */
  | "output-available"
  /** The call failed. */
  | "output-error"
  /** The call was denied. */
  | "output-denied";

/** The approval of a call. */
export type Approval = {
  /** Id of the request, if the dialect has one. */
  id?: ApprovalId;
  /** The decision, once it is made. */
  approved?: boolean;
  /** Reason for the decision. */
  reason?: string;
  /** Binds the request to the run, the call and its input. */
  signature?: string;
  /** Whether a policy decides instead of the user. */
  automatic?: boolean;
  /** Additional fields of the page. */
  extra?: Record<string, unknown>;
};

/** A tool call with its current state. */
export type ToolPart = {
  /** Id of the call. */
  call: ToolCallId;
  /** Name of the tool. */
  name: string;
  /** State of the call. */
  state: ToolState;
  /** Whether the tool was unknown when the page was built. */
  dynamic?: boolean;
  /** Who runs the tool. */
  executor: Executor;
  /** Human-readable title. */
  title?: string;
  /** JSON text of the input, as far as it was streamed. */
  inputText?: string;
  /** The input. */
  input?: unknown;
  /** The output. */
  output?: unknown;
  /** The output as structured content, if the tool returned both. */
  structured?: unknown;
  /** Whether the output is a failure that the tool reports. */
  isError?: boolean;
  /** Whether more output follows. */
  preliminary?: boolean;
  /** Error message of a failed call. */
  error?: string;
  /** The approval that it needs. */
  approval?: Approval;
  /** Provider-specific metadata of the call. */
  metadata?: unknown;
  /** Provider-specific metadata of the output. */
  outputMetadata?: unknown;
  /** Set if the node did not ask to show the call; pages that show calls on demand hide it. */
  quiet?: boolean;
  /** The attempt that made the call. */
  attempt?: AttemptId;
};

/** A source of the answer. Which fields are set depends on whether it is a page or a document. */
export type SourcePart = {
  /** Id of the source. */
  source: string;
  /** URL of the page. */
  url?: string;
  /** Title of the source. */
  title?: string;
  /** Media type of the document. */
  mediaType?: string;
  /** File name of the document. */
  filename?: string;
  /** The cited passage. */
  text?: string;
  /** The tool call that found it. */
  call?: ToolCallId;
  /** Provider-specific metadata. */
  metadata?: unknown;
  /** The attempt that produced it. */
  attempt?: AttemptId;
};

/** A file. */
export type FilePart = {
  /** URL of the file, which may be a `data:` URL. */
  url: string;
  /** Media type of the file. */
  mediaType: string;
  /** Name of the file. */
  filename?: string;
  /** Id of the file, if it has one. */
  id?: string;
  /** Whether it belongs to the reasoning instead of the answer. */
  reasoning?: boolean;
  /** Provider-specific metadata. */
  metadata?: unknown;
  /** The attempt that produced it. */
  attempt?: AttemptId;
};

/** An object that is streamed. */
export type StructuredPart = {
  /** Id of the stream. */
  stream: string;
  /** Type of the object, chosen by the application. */
  dataType: string;
  /**
   * The object, if the message was taken out of its run. Inside a [`RunState`](crate::RunState), use
   * [`RunState::structured`](crate::RunState::structured).
   */
  data?: unknown;
};

/** A question to the user. */
export type Interrupt = {
  /** Id of the question. */
  request: RequestId;
  /** Token that authorizes an answer. */
  token?: string;
  /** Kind of answer expected. */
  kind: InterruptKind;
  /** Whether several options may be chosen. [`InterruptKind::MultiChoice`] implies it. */
  multiple?: boolean;
  /** Text shown to the user. */
  question?: string;
  /** The options. */
  options?: Array<Choice>;
  /** The workflow that asks. */
  workflow?: string;
  /** The application's own id of the question. */
  id?: string;
  /** Name of the question's schema. */
  schemaId?: string;
  /** Version of that schema. */
  schemaVersion?: string;
  /** JSON Schema of the answer. */
  responseSchema?: unknown;
  /** The tool call that the question is about. */
  call?: ToolCallId;
  /** Why the run waits, as one word. */
  reason?: string;
  /** When the question expires, as an ISO 8601 date. */
  expiresAt?: string;
  /** Application metadata. */
  meta?: Record<string, unknown>;
};

/** One question to the user. */
export type RequestId = string;

/** The kind of answer expected. */
export type InterruptKind =
  /** Free text. */
  | "text"
  /** One of the options. */
  | "choice"
  /** Any number of the options. */
  | "multi-choice";

/** One option of a question. */
export type Choice = {
  /** Value of the answer. */
  id: string;
  /** Label shown to the user. */
  label: string;
  /** Additional text shown to the user. */
  description?: string;
};

/** The state of a question. */
export type QuestionState =
  /** It waits for an answer. */
  | "open"
  /** It was answered. */
  | "answered"
  /** It expired without an answer. */
  | "expired";

/** A question to the user. */
export type QuestionPart = {
  /** The question. It has a token only while it is open. */
  interrupt: Interrupt;
  /** State of the question. */
  state: QuestionState;
  /** The answer. */
  answer?: unknown;
};

/** The user answered a question. */
export type InterruptAnswered = {
  /** Id of the question. */
  request: RequestId;
  /** The answer. */
  answer?: unknown;
};

/** The current activity of the run, for a status line. */
export type StatusEvent = {
  /** Machine-readable state. */
  state?: string;
  /** Human-readable message. */
  message?: string;
};

/** The run continues in another workflow. */
export type TransitionEvent = {
  /** Name of the workflow. */
  to: string;
  /** Input of the workflow. */
  payload?: unknown;
};

/** The session's state after this turn was saved. */
export type CheckpointEvent = {
  /** Id of the checkpoint. */
  checkpoint: CheckpointId;
  /** Id of the session. */
  session: SessionId;
  /** Number of the turn. */
  turn: number;
  /** Human-readable label. */
  label?: string;
};

/** A request was not fully honoured. */
export type WarningEvent = {
  /** Human-readable message. */
  message: string;
  /** Stable code. */
  code?: string;
};

/** An error occurred. */
export type ErrorEvent = {
  /** Human-readable message. */
  message: string;
  /** Stable error code. */
  code?: string;
  /** Whether a retry may succeed. */
  retryable?: boolean;
  /**
   * Id of the HTTP request that started the run, to find more in the log. Only the journal has a field
   * for it.
   */
  request?: string;
  /** Whether the run ends with it. */
  terminal?: boolean;
};

/** The run's trace in a tracing system. */
export type TraceEvent = {
  /** Id of the trace. */
  trace: string;
  /** Id of the run's span. */
  span: string;
  /** Id of the run. */
  run: RunId;
};

/** A chunk of a dialect that has no equivalent here, kept unchanged. */
export type UnknownEvent = {
  /** The dialect's name of the chunk. */
  name: string;
  /** The whole chunk. */
  data: unknown;
};
