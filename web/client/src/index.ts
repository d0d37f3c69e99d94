/**
 * The client of a Headwater server: read its streams, build messages from them, and chat.
 *
 * `createChat` is all that a page needs. `readStream` and `RunReducer` are what it is made of. The wires of others have
 * entry points of their own: `@headwater/client/ai-sdk`, `/ag-ui`, `/agents`, `/kortyx`, `/mui`, `/tanstack`.
 *
 * @packageDocumentation
 */
export { HeadwaterError } from './errors.js';
export { parsePartialJson } from './partial-json.js';
export { readEvents, readStream, type ReadOptions, type StreamEvent, type StreamSource } from './read-stream.js';
export { RunReducer, type RunInfo, type RunState } from './reduce.js';
export { applyStructuredChunk, reduceStructuredChunks, type StructuredStreamState } from './structured.js';
export type * from './native.js';
