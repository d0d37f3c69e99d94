/**
 * Streams of Kortyx: chunks, structured objects, and the pieces that its chat shows.
 *
 * @packageDocumentation
 */
import { errorOf } from './errors.js';
import type { StructuredUpdate } from './native.js';
import { readEvents, type ReadOptions, type StreamSource } from './read-stream.js';
import { applyStructuredChunk, reduceStructuredChunks, type StructuredStreamState } from './structured.js';

export { applyStructuredChunk, reduceStructuredChunks, type StructuredStreamState };

/** An update of a structured object. */
export type StructuredDataChunk = { type: 'structured-data' } & StructuredUpdate;

/** A chunk of the stream. */
export type StreamChunk =
  | { type: 'session'; sessionId: string }
  | { type: 'status'; message: string }
  | { type: 'text-start' | 'text-end'; node?: string; opId?: string; segmentId?: string }
  | { type: 'text-delta'; delta: string; node?: string; opId?: string; segmentId?: string }
  | { type: 'tool-call-start'; tool: string; toolCallId: string; input?: unknown; node?: string; opId?: string }
  | { type: 'tool-call-result'; tool: string; toolCallId: string; content?: unknown; structuredContent?: unknown; isError?: boolean; node?: string; opId?: string }
  | { type: 'tool-call-error'; tool: string; toolCallId: string; message: string; node?: string; opId?: string }
  | { type: 'tool-result'; node?: string; content?: unknown }
  | { type: 'message'; content: string; node?: string }
  | StructuredDataChunk
  | { type: 'structured-data-invalidated'; streamIds?: string[]; streamId?: string }
  | InterruptChunk
  | { type: 'transition'; transitionTo: string; payload?: unknown }
  | { type: 'checkpoint'; id: string; sessionId: string; turnIndex: number }
  | { type: 'error'; message: string }
  | { type: 'done'; data?: unknown };

/** A question to a person. */
export interface InterruptChunk {
  type: 'interrupt';
  requestId: string;
  resumeToken: string;
  workflow?: string;
  node?: string;
  input: { kind: 'text' | 'choice' | 'multi-choice'; question?: string; multiple?: boolean; options?: { id: string; label: string; description?: string }[] };
}

/**
 * Reads the chunks of a stream, up to `[DONE]`. A chunk that is not JSON is passed over, with a warning.
 *
 * @example
 * ```ts
 * for await (const chunk of readStream(response.body)) {
 *   if (chunk.type === 'text-delta') text += chunk.delta;
 *   if (chunk.type === 'done') break;
 * }
 * ```
 */
export async function* readStream(
  source: StreamSource,
  { onInvalid = (data) => console.warn(`not a chunk: ${data.slice(0, 80)}`), ...options }: ReadOptions & { /** Called in place of the warning. */ onInvalid?: (data: string) => void } = {},
): AsyncGenerator<StreamChunk, void, undefined> {
  for await (const { data } of readEvents(source, { keepTail: false, ...options })) {
    if (data.trim() === '[DONE]') return;
    let chunk: StreamChunk;
    try {
      chunk = JSON.parse(data) as StreamChunk;
    } catch {
      onInvalid(data);
      continue;
    }
    yield chunk;
  }
}

/**
 * Asks a chat route, and reads the chunks of its response.
 *
 * @example
 * ```ts
 * for await (const chunk of streamFromRoute({ endpoint: '/api/chat', body: { sessionId, messages } })) apply(chunk);
 * ```
 */
export async function* streamFromRoute({ endpoint, body, headers, fetch = globalThis.fetch, ...options }: ReadOptions & {
  endpoint: string;
  /** The request: `{ sessionId, messages, … }`. */
  body: unknown;
  headers?: HeadersInit;
  fetch?: typeof globalThis.fetch;
}): AsyncGenerator<StreamChunk, void, undefined> {
  const all = new Headers(headers);
  all.set('content-type', 'application/json');
  const response = await fetch(endpoint, { method: 'POST', headers: all, body: JSON.stringify(body), signal: options.signal ?? null });
  if (!response.ok) throw await errorOf(response);
  yield* readStream(response, options);
}

/** A piece of an answer. */
export type ContentPiece =
  | { type: 'text'; id: string; content: string; isStreaming: boolean }
  | { type: 'structured'; id: string; data: StructuredStreamState }
  | { type: 'interrupt'; id: string; resumeToken: string; requestId: string; input: InterruptChunk['input'] }
  | { type: 'error'; id: string; content: string };

/** An answer so far: its pieces in order, and what its stream said about the session. */
export interface Answer {
  pieces: readonly ContentPiece[];
  sessionId?: string;
  isDone: boolean;
}

/** An answer before its first chunk. */
export const emptyAnswer: Answer = { pieces: [], isDone: false };

/** The answer after one chunk, as a new value. */
export function applyChunk(answer: Answer, chunk: StreamChunk): Answer {
  const { pieces } = answer;
  const put = (piece: ContentPiece): Answer => {
    const at = pieces.findIndex(({ id }) => id === piece.id);
    return { ...answer, pieces: at < 0 ? [...pieces, piece] : pieces.with(at, piece) };
  };
  switch (chunk.type) {
    case 'session':
      return { ...answer, sessionId: chunk.sessionId };
    case 'text-start':
    case 'text-delta':
    case 'text-end': {
      const id = `text ${chunk.node ?? ''} ${chunk.opId ?? ''} ${chunk.segmentId ?? ''}`;
      const open = pieces.findLast((piece) => piece.type === 'text' && piece.isStreaming && piece.id.startsWith(id)) as Extract<ContentPiece, { type: 'text' }> | undefined;
      if (chunk.type === 'text-end') return open ? put({ ...open, isStreaming: false }) : answer;
      if (open) return chunk.type === 'text-delta' ? put({ ...open, content: open.content + chunk.delta }) : answer;
      return put({ type: 'text', id: `${id} ${pieces.length}`, content: chunk.type === 'text-delta' ? chunk.delta : '', isStreaming: true });
    }
    case 'message':
      // A whole message after streamed text would say it twice.
      if (pieces.some((piece) => piece.type === 'text' && piece.content)) return answer;
      return put({ type: 'text', id: `message ${pieces.length}`, content: chunk.content, isStreaming: false });
    case 'structured-data': {
      const id = `structured ${chunk.streamId}`;
      const held = pieces.find((piece) => piece.id === id) as Extract<ContentPiece, { type: 'structured' }> | undefined;
      return put({ type: 'structured', id, data: applyStructuredChunk(held?.data, chunk) });
    }
    case 'structured-data-invalidated': {
      const gone = [...(chunk.streamIds ?? []), chunk.streamId].map((stream) => `structured ${stream}`);
      return { ...answer, pieces: pieces.filter(({ id }) => !gone.includes(id)) };
    }
    case 'interrupt':
      return put({ type: 'interrupt', id: `interrupt ${chunk.requestId}`, resumeToken: chunk.resumeToken, requestId: chunk.requestId, input: chunk.input });
    case 'error':
      return put({ type: 'error', id: `error ${pieces.length}`, content: chunk.message });
    case 'done':
      return { ...answer, isDone: true };
    default:
      return answer;
  }
}
