// The examples of the protocols that our clients follow, with their imports renamed.

import {
  applyEvent,
  applyStructuredChunk,
  createStream,
  fromSSE,
  readStream,
  reduceStructuredChunks,
  streamFromRoute,
  type StreamChunk,
  type StructuredDataChunk,
  type StructuredStreamState,
  type UIMessage,
} from '@headwater/client';

export async function collect(response: Response) {
  const chunks: StreamChunk[] = [];

  for await (const chunk of readStream(response.body)) {
    chunks.push(chunk);

    if (chunk.type === 'text-delta') {
      // append to in-flight assistant text
    }

    if (chunk.type === 'interrupt') {
      // render selection UI and resume with token/requestId
    }

    if (chunk.type === 'done') {
      break;
    }
  }
  return chunks;
}

export const byStreamId: Record<string, StructuredStreamState<Record<string, unknown>>> = {};

export function onStructuredChunk(chunk: StructuredDataChunk) {
  byStreamId[chunk.streamId] = applyStructuredChunk(byStreamId[chunk.streamId], chunk);
}

type StreamEvent = { type: string; data: unknown };
type ApplyEvent = (messages: UIMessage[], event: StreamEvent) => UIMessage[];
export const reducer: ApplyEvent = applyEvent;

export async function messagesOf(url: string, signal: AbortSignal) {
  let messages: UIMessage[] = [];
  for await (const event of fromSSE(url, { signal })) messages = applyEvent(messages, event);
  return messages;
}

export async function routeText(endpoint: string) {
  let text = '';
  for await (const chunk of streamFromRoute({ endpoint, body: { sessionId: 's', messages: [] } })) {
    if (chunk.type === 'text-delta') text += chunk.delta;
  }
  return text;
}

export const objectOf = (chunks: StructuredDataChunk[]) => reduceStructuredChunks<Record<string, unknown>>(chunks);

export const story: ReadableStream<{ type: string }> = createStream([{ type: 'start' }, { type: 'finish' }], 1);
