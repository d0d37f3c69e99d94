import { applyStructuredChunk, readStream, type StreamChunk, type StructuredDataChunk, type StructuredStreamState } from '@headwater/client/kortyx';

export async function collectChunks(response: Response) {
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

export function keepObjects() {
  const byStreamId: Record<string, StructuredStreamState<Record<string, unknown>>> = {};

  function onStructuredChunk(chunk: StructuredDataChunk) {
    byStreamId[chunk.streamId] = applyStructuredChunk(byStreamId[chunk.streamId], chunk);
  }
  return { byStreamId, onStructuredChunk };
}

export async function textAndObjects(response: Response) {
  let text = '';
  const structured: Record<string, StructuredStreamState<Record<string, unknown>>> = {};

  for await (const chunk of readStream(response.body)) {
    if (chunk.type === 'text-delta') {
      text += chunk.delta;
    }

    if (chunk.type === 'structured-data') {
      structured[chunk.streamId] = applyStructuredChunk(structured[chunk.streamId], chunk);
    }
  }
  return { text, structured };
}
