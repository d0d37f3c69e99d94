// The native wire of Headwater: see docs/native.md.
// Written from the Rust types by `HEADWATER_BLESS=1 cargo nextest run -p xtask`; do not edit it.

/** A record on the wire: the `data:` of an SSE frame, or a line of NDJSON. */
export type NativeRecord = {
  /** The version of the format, in the frame of `run-started`. */
  version?: number;
  /** The number of the record in its run. It grows, with gaps. */
  seq: number;
  /** When it was recorded, in milliseconds since 1970. */
  time?: number;
  /** The workflow node. */
  node?: string;
  /** The how-manyeth execution of that node, from 0. */
  visit?: number;
  /** The parallel branch. */
  branch?: string;
  /** The hook call. */
  operation?: string;
  /** The piece of that hook's output. */
  segment?: string;
  /** The try of the model call. */
  attempt?: AttemptId;
  /** The message that the event belongs to; without it, the message that was started last. */
  message?: MessageId;
  /** It is one of the records that rebuild the current state: a reader drops what it holds at the first of them. */
  replay?: boolean;
  event: Event;
  /** The cursor of the record, on a line of NDJSON. In SSE it is the `id:` of the frame. */
  cursor?: string;
};

/** One try of a model call; what it said is taken back if it fails. */
export type AttemptId = string;

/** One message of a conversation. */
export type MessageId = string;

/** One thing that a reader may see. */
export type Event =
  /** The run began. */
  | { type: "run-started" } & RunStarted
  /** The run came to its end. */
  | { type: "run-finished" } & RunFinished
  /** The run ended with an error. */
  | { type: "run-failed" } & ErrorInfo
  /** The run was stopped on request. */
  | {
    type: "run-cancelled";
    /** Who or what asked for it. */
    reason?: string;
  }
  /** The run goes on when someone answers: a person, or the page that executes a tool. */
  | { type: "run-waiting" } & RunWaiting
  /** A model call is tried; its output belongs to this attempt. */
  | { type: "attempt-started" } & AttemptStarted
  /** The attempt was completed; nothing of it will be taken back. */
  | {
    type: "attempt-finished";
    /** The attempt. */
    attempt: AttemptId;
  }
  /** The attempt failed: its output is retracted. */
  | { type: "attempt-retracted" } & AttemptRetracted
  /** A message begins, or continues. */
  | { type: "message-started" } & MessageStarted
  /** The message is complete. */
  | {
    type: "message-finished";
    /** The message. */
    message: MessageId;
  }
  /** Metadata to be merged into the message. */
  | {
    type: "message-metadata";
    /** A JSON object. */
    metadata: unknown;
  }
  /** A whole message from a node, said at once. */
  | {
    type: "message";
    /** Its text. */
    content: string;
  }
  /** A step of the run begins: one model call and the tools that follow it. */
  | {
    type: "step-started";
    /** Its name, where it has one. */
    name?: string;
  }
  /** The step ended. */
  | {
    type: "step-finished";
    /** Its name, where it has one. */
    name?: string;
  }
  /** A block of text or of reasoning begins. */
  | { type: "block-started" } & BlockStarted
  /** More text of a block. */
  | { type: "block-delta" } & BlockDelta
  /** The block is complete. */
  | { type: "block-ended" } & BlockEnded
  /** The model begins to write the input of a tool call. */
  | { type: "tool-input-start" } & ToolCall
  /** More of the input's JSON text. */
  | { type: "tool-input-delta" } & ToolInputDelta
  /** The input is complete. */
  | { type: "tool-input-available" } & ToolInputAvailable
  /** The input is not what the tool takes. */
  | { type: "tool-input-error" } & ToolInputError
  /** A person is asked whether the call may be made. */
  | { type: "approval-requested" } & ApprovalRequested
  /** The approval was given or refused. */
  | { type: "approval-answered" } & ApprovalAnswered
  /** What the tool gave. */
  | { type: "tool-output" } & ToolOutput
  /** The tool could not be run, or failed. */
  | { type: "tool-output-error" } & ToolOutputError
  /** The call was refused by a person and not made. */
  | { type: "tool-denied" } & ToolDenied
  /** A web page that the answer rests on. */
  | { type: "source-url" } & SourceUrl
  /** A document that the answer rests on. */
  | { type: "source-document" } & SourceDocument
  /** A file, by its address or as a `data:` URL. */
  | { type: "file" } & FileEvent
  /** Data of the application's own. */
  | { type: "data" } & DataEvent
  /** An object that is built while it is streamed. */
  | { type: "structured" } & StructuredUpdate
  /** A structured stream no longer counts. */
  | { type: "structured-invalidated" } & StructuredInvalidated
  /** The state shared with the page is replaced. */
  | {
    type: "state-snapshot";
    /** The whole state. */
    state: unknown;
  }
  /** The state shared with the page changes. */
  | {
    type: "state-delta";
    /** A JSON Patch. */
    patch: Array<unknown>;
  }
  /** The conversation as it stands: messages are replaced by id, unknown ones added, missing ones removed. */
  | {
    type: "messages-snapshot";
    /** The whole conversation. */
    messages: Array<Message>;
  }
  /** A person is asked. */
  | { type: "interrupt-requested" } & Interrupt
  /** The person answered. */
  | { type: "interrupt-answered" } & InterruptAnswered
  /** Nobody answered in time. */
  | {
    type: "interrupt-expired";
    /** The question. */
    request: RequestId;
  }
  /** What the run is doing, for an overlay. */
  | { type: "status" } & StatusEvent
  /** The run goes on in another workflow. */
  | { type: "transition" } & TransitionEvent
  /** The session's state after this turn was kept. */
  | { type: "checkpoint" } & CheckpointEvent
  /** What was used so far. */
  | { type: "usage" } & Usage
  /** Something was not done as asked. */
  | { type: "warning" } & WarningEvent
  /** Something went wrong. */
  | { type: "error" } & ErrorEvent
  /** Where the run is found in a tracing system. */
  | { type: "trace" } & TraceEvent
  /** Something that a dialect says and we have no word for, kept as it came. */
  | { type: "unknown" } & UnknownEvent;

/** One execution of an agent. */
export type RunId = string;

/** A conversation of many runs. */
export type SessionId = string;

/** How a run began. */
export type RunStarted = {
  /** The run. */
  run?: RunId;
  /** Its session. */
  session?: SessionId;
  /** The page's own name for the session, where it has one. */
  conversation?: string;
  /** The run that this one goes on from. */
  parent?: RunId;
  /** The workflow that runs. */
  workflow?: string;
  /** The model that answers. */
  model?: string;
  /** The HTTP request that asked for it. */
  request?: string;
  /** The path that was called. */
  endpoint?: string;
};

/**
 * Why a model stopped.
 *
 * Written as one word: the six that all providers share, or the provider's own.
 */
export type FinishReason = string;

/** Tokens used. */
export type Usage = {
  /** Tokens read. */
  inputTokens?: number;
  /** Tokens written. */
  outputTokens?: number;
  /** Both, as the provider counts them. */
  totalTokens?: number;
  /** Tokens of the output that were thoughts. */
  reasoningTokens?: number;
  /** Tokens of the input that came from a cache. */
  cachedInputTokens?: number;
  /** Tokens of the input that were put into a cache. */
  cacheWriteTokens?: number;
};

/** The run came to its end. */
export type RunFinished = {
  /** Why it ended, where a model said so. */
  reason?: FinishReason;
  /** What the whole run used. */
  usage?: Usage;
  /** The run's result. */
  data?: unknown;
};

/** What went wrong, as a page is told. */
export type ErrorInfo = {
  /** A line for people. */
  message: string;
  /** A machine-readable code. */
  code?: string;
  /** Whether the same request may go well the next time. */
  retryable?: boolean;
  /** The HTTP request that began the run: the log has more under this id. No dialect but the journal has a field for it. */
  request?: string;
};

/** One call of a tool. */
export type ToolCallId = string;

/** The run goes on when someone answers: a person, or the page that executes a tool. */
export type RunWaiting = {
  /** The calls whose outputs the page owes. */
  toolCalls?: Array<ToolCallId>;
  /** What the run used so far. */
  usage?: Usage;
};

/** A model call is tried; its output belongs to this attempt. */
export type AttemptStarted = {
  /** The attempt; its records name it in their origin. */
  attempt: AttemptId;
  /** The model that is asked. */
  model?: string;
};

/** The attempt failed: its output is retracted. */
export type AttemptRetracted = {
  /** The attempt. */
  attempt: AttemptId;
  /** Why. */
  reason?: string;
};

/** Who speaks in a message. */
export type Role =
  /** The operator's instructions. */
  | "system"
  /** The developer's instructions, where a wire tells them from the operator's. */
  | "developer"
  /** The person. */
  | "user"
  /** The agent. */
  | "assistant"
  /** A tool's output that stands alone. */
  | "tool"
  /** Thoughts that stand in a message of their own (AG-UI). */
  | "reasoning"
  /** Progress of the application that stands in a message of its own (AG-UI). */
  | "activity";

/** A message begins, or continues. */
export type MessageStarted = {
  /** The message. */
  message: MessageId;
  /** Who speaks. */
  role: Role;
  /** The speaker as the wire described it: a name, or an object. */
  author?: unknown;
};

/** What a block holds. */
export type BlockKind =
  /** The answer. */
  | "text"
  /** The model's thoughts. */
  | "reasoning";

/** One block of text or reasoning within a message. */
export type PartId = string;

/** A block of text or of reasoning begins. */
export type BlockStarted = {
  /** What the block holds. Blocks of different kinds may share an id. */
  kind: BlockKind;
  /** The block. */
  id: PartId;
  /** What the provider said about it. */
  metadata?: unknown;
};

/** More text of a block. */
export type BlockDelta = {
  /** What the block holds. */
  kind: BlockKind;
  /** The block. */
  id: PartId;
  /** The text to append. */
  delta: string;
  /** What the provider said about it. */
  metadata?: unknown;
};

/** The block is complete. */
export type BlockEnded = {
  /** What the block holds. */
  kind: BlockKind;
  /** The block. */
  id: PartId;
  /** What the provider said about it. */
  metadata?: unknown;
};

/** Who executes a tool call. */
export type Executor =
  /** The agent. */
  | "server"
  /** The page. */
  | "client"
  /** The model's provider. */
  | "provider";

/** A call of a tool: which, and who executes it. */
export type ToolCall = {
  /** The call. */
  call: ToolCallId;
  /** The tool. */
  name: string;
  /** The tool was not known when the page was built. */
  dynamic?: boolean;
  /** Who executes it. */
  executor?: Executor;
  /** A title for people. */
  title?: string;
  /** What the provider said about it. */
  metadata?: unknown;
  /** The node did not ask for it to be shown: a page that shows calls on demand only does not show this one. */
  quiet?: boolean;
};

/** More of the input's JSON text. */
export type ToolInputDelta = {
  /** The call. */
  call: ToolCallId;
  /** A piece of JSON text. */
  delta: string;
};

/** The input is complete. */
export type ToolInputAvailable = {
  /** The call. */
  call: ToolCallId;
  /** The tool. */
  name: string;
  /** The tool was not known when the page was built. */
  dynamic?: boolean;
  /** Who executes it. */
  executor?: Executor;
  /** A title for people. */
  title?: string;
  /** What the provider said about it. */
  metadata?: unknown;
  /** The node did not ask for it to be shown: a page that shows calls on demand only does not show this one. */
  quiet?: boolean;
  /** The input; absent where its text is not JSON. */
  input?: unknown;
};

/** The input is not what the tool takes. */
export type ToolInputError = {
  /** The call. */
  call: ToolCallId;
  /** The tool. */
  name: string;
  /** The tool was not known when the page was built. */
  dynamic?: boolean;
  /** Who executes it. */
  executor?: Executor;
  /** A title for people. */
  title?: string;
  /** What the provider said about it. */
  metadata?: unknown;
  /** The node did not ask for it to be shown: a page that shows calls on demand only does not show this one. */
  quiet?: boolean;
  /** The input as it came. */
  input?: unknown;
  /** What is wrong with it. */
  error: string;
};

/** One request for a person's approval of a tool call. */
export type ApprovalId = string;

/** A person is asked whether the call may be made. */
export type ApprovalRequested = {
  /** The request. */
  approval: ApprovalId;
  /** The call. */
  call: ToolCallId;
  /** The tool. */
  name: string;
  /** The tool was not known when the page was built. */
  dynamic?: boolean;
  /** Who executes it. */
  executor?: Executor;
  /** A title for people. */
  title?: string;
  /** What the provider said about it. */
  metadata?: unknown;
  /** The node did not ask for it to be shown: a page that shows calls on demand only does not show this one. */
  quiet?: boolean;
  /** The exact input that is approved. */
  input?: unknown;
  /** Binds the request to the run, the call and its input. */
  signature?: string;
  /** A policy answers, not a person. */
  automatic?: boolean;
};

/** The approval was given or refused. */
export type ApprovalAnswered = {
  /** The request. */
  approval: ApprovalId;
  /** The call, where the wire says it. */
  call?: ToolCallId;
  /** The decision. */
  approved: boolean;
  /** Why. */
  reason?: string;
};

/** What the tool gave. */
export type ToolOutput = {
  /** The call. */
  call: ToolCallId;
  /** The tool's name, where the wire says it. */
  name?: string;
  /** The output. */
  output: unknown;
  /** The same as structured content, where the tool gave both. */
  structured?: unknown;
  /** The tool ran and reports a failure of its own. */
  isError?: boolean;
  /** More will come for this call. */
  preliminary?: boolean;
  /** What the provider said about it. */
  metadata?: unknown;
};

/** The tool could not be run, or failed. */
export type ToolOutputError = {
  /** The call. */
  call: ToolCallId;
  /** The tool's name, where the wire says it. */
  name?: string;
  /** What happened. */
  error: string;
};

/** The call was refused by a person and not made. */
export type ToolDenied = {
  /** The call. */
  call: ToolCallId;
  /** The tool's name, where the wire says it. */
  name?: string;
  /** Why. */
  reason?: string;
};

/** A web page that the answer rests on. */
export type SourceUrl = {
  /** The source. */
  source: string;
  /** Its address. */
  url: string;
  /** Its title. */
  title?: string;
  /** The tool call that found it. */
  call?: ToolCallId;
  /** What the provider said about it. */
  metadata?: unknown;
};

/** A document that the answer rests on. */
export type SourceDocument = {
  /** The source. */
  source: string;
  /** Its title. */
  title?: string;
  /** Its media type. */
  mediaType?: string;
  /** Its file name. */
  filename?: string;
  /** The passage. */
  text?: string;
  /** The tool call that found it. */
  call?: ToolCallId;
  /** What the provider said about it. */
  metadata?: unknown;
};

/** A file, by its address or as a `data:` URL. */
export type FileEvent = {
  /** Its address. */
  url: string;
  /** Its media type. */
  mediaType: string;
  /** Its name. */
  filename?: string;
  /** Its id, where it has one. */
  id?: string;
  /** It belongs to the reasoning, not to the answer. */
  reasoning?: boolean;
  /** What the provider said about it. */
  metadata?: unknown;
};

/** Data of the application's own. */
export type DataEvent = {
  /** What kind of data it is. */
  name: string;
  /** Data of the same name and id replaces what was there. */
  id?: string;
  /** The data. */
  data: unknown;
  /** To be seen once; only some dialects' clients keep it. */
  transient?: boolean;
};

/**
 * One update of a structured stream.
 *
 * Its JSON is flat: `streamId`, `dataType`, `kind`, `path`, then `value`, `items`, `delta` or `data`, and
 * `schemaId`, `schemaVersion`, `id`, `node` where given. Other keys are passed over when reading.
 */
export type StructuredUpdate = {
  /** Which stream it belongs to; one stream builds one object. */
  streamId: string;
  /** What the object is, for the application to route by. */
  dataType: string;
  /** The application's own name for the object. */
  id?: string;
  /** The schema that the object follows. */
  schemaId?: string;
  /** The version of that schema. */
  schemaVersion?: string;
  /** The workflow node that said it. */
  node?: string;
} & (
  /** Write a value, whatever was there. */
  | {
    kind: "set";
    /** Where. */
    path: string;
    /**
     * What. An update without any value unsets the place: a key goes away, an array element becomes
     * one that was never written. That is not the same as the value `null`.
     */
    value?: unknown;
  }
  /** Add to the end of an array, or create it. */
  | {
    kind: "append";
    /** Where the array is. */
    path: string;
    /** What to add. */
    items: Array<unknown>;
  }
  /** Add to the end of a string, or create it. */
  | {
    kind: "text-delta";
    /** Where the string is. */
    path: string;
    /** What to add. */
    delta: string;
  }
  /** Put this in the place of everything, and end the stream. */
  | {
    kind: "final";
    /** The whole object, or nothing at all. */
    data?: unknown;
  }
);

/** The state of a session after a turn. */
export type CheckpointId = string;

/** A structured stream no longer counts. */
export type StructuredInvalidated = {
  /** The stream. */
  stream: string;
  /** The checkpoint that was rolled back to. */
  checkpoint?: CheckpointId;
};

/** One message of a conversation. */
export type Message = {
  /** Its id. */
  id: MessageId;
  /** Who speaks. */
  role: Role;
  /** How far it is. */
  status: MessageStatus;
  /** What the application keeps with it. */
  metadata?: unknown;
  /** The speaker as the wire described it. */
  author?: unknown;
  /** What it says and does, in order. */
  parts: Array<Part>;
};

/** How far a message is. */
export type MessageStatus =
  /** A person's message on its way. */
  | "sending"
  /** It is being written. */
  | "streaming"
  /** It is complete. */
  | "sent"
  /** It was stopped. */
  | "cancelled"
  /** It failed, or the stream was cut. */
  | "error";

/** One part of a message. */
export type Part =
  /** Text of the answer. */
  | { type: "text" } & TextPart
  /** Thoughts. */
  | { type: "reasoning" } & TextPart
  /** A tool call, through its whole life. */
  | { type: "tool" } & ToolPart
  /** A web page that the answer rests on. */
  | { type: "source-url" } & SourcePart
  /** A document that the answer rests on. */
  | { type: "source-document" } & SourcePart
  /** A file. */
  | { type: "file" } & FilePart
  /** Data of the application's own. */
  | { type: "data" } & DataEvent
  /** An object that is built while it is streamed. */
  | { type: "structured" } & StructuredPart
  /** A question that was put to a person. */
  | { type: "question" } & QuestionPart
  /** A step begins here. */
  | { type: "step-start" }
  /**
   * A part that only its dialect knows, as it came. It is kept as `{"type":"other","value":…}`, because it has a
   * `type` of its own.
   */
  | {
    type: "other";
    /** The part. */
    value: unknown;
  };

/** Whether a part may still grow. */
export type PartState =
  /** It may. */
  | "streaming"
  /** It is complete. */
  | "done";

/** A block of text or reasoning. */
export type TextPart = {
  /** The block's id on the wire. */
  id: PartId;
  /** Its text so far. */
  text: string;
  /** Whether it may still grow. */
  state: PartState;
  /** What the provider said about it last. */
  metadata?: unknown;
  /** The attempt that said it. */
  attempt?: AttemptId;
};

/** Where a tool call is in its life. */
export type ToolState =
  /** The model writes its input. */
  | "input-streaming"
  /** The input is there. */
  | "input-available"
  /** A person is asked. */
  | "approval-requested"
  /** The person answered. */
  | "approval-responded"
  /** There is an output. */
  | "output-available"
  /** It failed. */
  | "output-error"
  /** It was refused. */
  | "output-denied";

/** The approval that a call needs. */
export type Approval = {
  /** The request, where the wire gave one. */
  id?: ApprovalId;
  /** The decision, once it is made. */
  approved?: boolean;
  /** Why. */
  reason?: string;
  /** Binds the request to the run, the call and its input. */
  signature?: string;
  /** A policy answers, not a person. */
  automatic?: boolean;
  /** What the page keeps with it beyond that. */
  extra?: Record<string, unknown>;
};

/** A tool call, through its whole life. */
export type ToolPart = {
  /** The call. */
  call: ToolCallId;
  /** The tool. */
  name: string;
  /** Where it is in its life. */
  state: ToolState;
  /** The tool was not known when the page was built. */
  dynamic?: boolean;
  /** Who executes it. */
  executor: Executor;
  /** A title for people. */
  title?: string;
  /** The input's JSON text as far as it was streamed. */
  inputText?: string;
  /** The input. */
  input?: unknown;
  /** The output. */
  output?: unknown;
  /** The output as structured content, where the tool gave both. */
  structured?: unknown;
  /** The output is a failure that the tool reports. */
  isError?: boolean;
  /** More output will come. */
  preliminary?: boolean;
  /** Why it failed. */
  error?: string;
  /** The approval that it needs. */
  approval?: Approval;
  /** What the provider said about the call. */
  metadata?: unknown;
  /** What the provider said about the output. */
  outputMetadata?: unknown;
  /** The node did not ask for it to be shown: a page that shows calls on demand only does not show this one. */
  quiet?: boolean;
  /** The attempt that made it. */
  attempt?: AttemptId;
};

/** A source of the answer; which fields are set depends on whether it is a page or a document. */
export type SourcePart = {
  /** The source. */
  source: string;
  /** Its address. */
  url?: string;
  /** Its title. */
  title?: string;
  /** Its media type. */
  mediaType?: string;
  /** Its file name. */
  filename?: string;
  /** The passage. */
  text?: string;
  /** The tool call that found it. */
  call?: ToolCallId;
  /** What the provider said about it. */
  metadata?: unknown;
  /** The attempt that gave it. */
  attempt?: AttemptId;
};

/** A file. */
export type FilePart = {
  /** Its address, or a `data:` URL. */
  url: string;
  /** Its media type. */
  mediaType: string;
  /** Its name. */
  filename?: string;
  /** Its id, where it has one. */
  id?: string;
  /** It belongs to the reasoning, not to the answer. */
  reasoning?: boolean;
  /** What the provider said about it. */
  metadata?: unknown;
  /** The attempt that gave it. */
  attempt?: AttemptId;
};

/** An object that is built while it is streamed. */
export type StructuredPart = {
  /** The stream that builds it. */
  stream: string;
  /** What kind of object it is. */
  dataType: string;
  /**
   * The object, in a message that has left its run. While it is in a [`RunState`](crate::RunState), the object is
   * there: [`RunState::structured`](crate::RunState::structured).
   */
  data?: unknown;
};

/** A question put to a person. */
export type Interrupt = {
  /** The question. */
  request: RequestId;
  /** What allows to answer it. */
  token?: string;
  /** What kind of answer is asked for. */
  kind: InterruptKind;
  /** Several answers may be given. [`InterruptKind::MultiChoice`] implies it. */
  multiple?: boolean;
  /** What the person reads. */
  question?: string;
  /** What may be chosen. */
  options?: Array<Choice>;
  /** The workflow that asks. */
  workflow?: string;
  /** The application's own name for the question. */
  id?: string;
  /** The schema of the question, by name. */
  schemaId?: string;
  /** The version of that schema. */
  schemaVersion?: string;
  /** The JSON Schema that the answer must meet. */
  responseSchema?: unknown;
  /** The tool call that the question is about. */
  call?: ToolCallId;
  /** Why the run waits, in one word. */
  reason?: string;
  /** When the question goes away, as an ISO 8601 date. */
  expiresAt?: string;
  /** What the application adds. */
  meta?: Record<string, unknown>;
};

/** One question put to a person. */
export type RequestId = string;

/** What kind of answer is asked for. */
export type InterruptKind =
  /** Free text. */
  | "text"
  /** One of the choices. */
  | "choice"
  /** Any number of the choices. */
  | "multi-choice";

/** One of the answers that a person may choose. */
export type Choice = {
  /** What the answer says. */
  id: string;
  /** What the person reads. */
  label: string;
  /** More to read. */
  description?: string;
};

/** How far a question is. */
export type QuestionState =
  /** It waits for an answer. */
  | "open"
  /** It was answered. */
  | "answered"
  /** It was not answered in time. */
  | "expired";

/** A question that was put to a person. */
export type QuestionPart = {
  /** The question. It has a token only while it is open. */
  interrupt: Interrupt;
  /** How far it is. */
  state: QuestionState;
  /** The answer. */
  answer?: unknown;
};

/** The person answered. */
export type InterruptAnswered = {
  /** The question. */
  request: RequestId;
  /** The answer. */
  answer?: unknown;
};

/** What the run is doing, for an overlay. */
export type StatusEvent = {
  /** A machine-readable state. */
  state?: string;
  /** A line for people. */
  message?: string;
};

/** The run goes on in another workflow. */
export type TransitionEvent = {
  /** That workflow. */
  to: string;
  /** What is handed over. */
  payload?: unknown;
};

/** The session's state after this turn was kept. */
export type CheckpointEvent = {
  /** The checkpoint. */
  checkpoint: CheckpointId;
  /** Its session. */
  session: SessionId;
  /** The number of the turn. */
  turn: number;
  /** A label for people. */
  label?: string;
};

/** Something was not done as asked. */
export type WarningEvent = {
  /** A line for people. */
  message: string;
  /** A machine-readable code. */
  code?: string;
};

/** Something went wrong. */
export type ErrorEvent = {
  /** A line for people. */
  message: string;
  /** A machine-readable code. */
  code?: string;
  /** Whether the same request may go well the next time. */
  retryable?: boolean;
  /** The HTTP request that began the run: the log has more under this id. No dialect but the journal has a field for it. */
  request?: string;
  /** The run ends with it. */
  terminal?: boolean;
};

/** Where the run is found in a tracing system. */
export type TraceEvent = {
  /** The trace. */
  trace: string;
  /** The run's span. */
  span: string;
  /** The run. */
  run: RunId;
};

/** Something that a dialect says and we have no word for, kept as it came. */
export type UnknownEvent = {
  /** The wire's own name for it. */
  name: string;
  /** The whole of it. */
  data: unknown;
};
