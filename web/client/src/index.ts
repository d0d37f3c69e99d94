/**
 * The client of a Headwater server: read its streams, build messages from them, and chat.
 *
 * `createChat` is all that a page needs. `readStream` and `RunReducer` are what it is made of. The wires of others have
 * entry points of their own: `@headwater/client/ai-sdk`, `/ag-ui`, `/agents`, `/kortyx`, `/mui`, `/tanstack`. What pages
 * use of them most is here, too; a bundler leaves out what is not imported.
 *
 * @packageDocumentation
 */
export { Chat, createChat } from './chat/chat.js';
export type { Connection, FollowOptions } from './chat/follow.js';
export type { HttpOptions } from './chat/http.js';
export type { Checkpoint, QueuedMessage, Session, Variant, WaitingInterrupt } from './chat/session-api.js';
export { SnapshotStore } from './chat/store.js';
export type { ChatStorage, SessionOptions } from './chat/storage.js';
export type { ChatCallbacks, ChatOptions, ChatSnapshot, ChatStatus, FinishInfo, ToolCallInfo, Waiting } from './chat/types.js';
export { HeadwaterError } from './errors.js';
export { applyPatch } from './json-patch.js';
export { parsePartialJson } from './partial-json.js';
export { readEvents, readStream, type ReadOptions, type StreamEvent, type StreamSource } from './read-stream.js';
export { RunReducer, type ReducerOptions, type RunInfo, type RunState } from './reduce.js';
export { applyStructuredChunk, reduceStructuredChunks, type StructuredStreamState } from './structured.js';
export type * from './native.js';

// What pages use most of the dialects.
export { applyEvent, fromSSE } from './agents.js';
export type { UIMessage, UIMessagePart } from './ai-sdk.js';
export { createStream } from './create-stream.js';
export { streamFromRoute, type StreamChunk, type StructuredDataChunk } from './kortyx.js';
