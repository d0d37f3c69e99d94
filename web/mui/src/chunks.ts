import { delay, LostError, refusal, RefusedError } from './retry.js';
import { readEvents } from './sse.js';

/** A chunk of MUI's, or one of ours that this package translates: `error` and `message-updated`. */
export type ServerChunk = { type: string; id?: string; messageId?: string } & Record<string, unknown>;

/** Where a stream is: what names it to the server, and the last event that was read. */
export interface Position {
  conversationId?: string | undefined;
  messageId?: string | undefined;
  runId?: string | undefined;
  lastEventId?: string | undefined;
}

/**
 * The chunks of an answer, over as many connections as it takes: each once, and in order.
 *
 * @throws `RefusedError` if the run fails or the server refuses; `LostError` after `retries` attempts without a new chunk.
 */
export async function* readChunks(
  first: Response,
  reconnect: () => Promise<Response>,
  position: Position,
  retries: number,
  signal: AbortSignal,
): AsyncGenerator<ServerChunk, void, undefined> {
  let failures = 0;
  /** The ends of the texts that are open, by kind and id. */
  const open = new Map<string, ServerChunk>();
  function* closeTexts() {
    yield* open.values();
    open.clear();
  }

  for (let connect = async () => first; ; connect = reconnect) {
    try {
      const response = await connect();
      if (response.status >= 500) throw new Error(`the server responded with ${response.status}`);
      if (!response.ok) throw await refusal(response);
      position.runId = response.headers.get('x-run-id') ?? position.runId;
      for await (const { id, data } of readEvents(response.body)) {
        const { chunk } = JSON.parse(data) as { chunk?: ServerChunk };
        // A heartbeat has no envelope.
        if (!chunk) continue;
        failures = 0;
        const { type, messageId } = chunk;
        // The answer comes from its beginning: what was shown of it would be there twice.
        if (type === 'start' && position.messageId !== undefined) {
          yield* closeTexts();
          yield { type: 'message-updated', message: { id: messageId, parts: [] } };
        }
        if (type === 'start') position.messageId = messageId;
        if (type === 'error') throw new RefusedError(chunk['errorText'] as string);
        // An open text may be one that only this reader saw, of an attempt that died with its process.
        if (type === 'message-updated') yield* closeTexts();
        yield chunk;
        const [, kind, step] = textStep(type);
        if (step === 'end') open.delete(`${kind} ${chunk.id}`);
        else if (step) open.set(`${kind} ${chunk.id}`, { type: `${kind}-end`, id: chunk.id as string });
        position.lastEventId = id ?? position.lastEventId;
        if (type === 'finish' || type === 'abort') return;
      }
    } catch (error) {
      if (error instanceof RefusedError || signal.aborted) throw error;
    }
    failures += 1;
    if (failures > retries) throw new LostError('the connection was lost, and could not be restored');
    await delay(failures);
  }
}

/** The kind and the step of a chunk of text: `reasoning` and `delta`, for example. */
export const textStep = (type: string) => /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? [];
