import { HeadwaterError } from './errors.js';
import { readBatches, type ReadOptions, type StreamEvent, type StreamSource } from './read-stream.js';

/** Builds something from chunks. */
interface Reducer<C, S> {
  apply(chunk: C): void;
  snapshot(): S;
}

/** What a reducer makes of a stream, once for all chunks that arrive together. */
export async function* readSnapshots<C, S>(
  source: StreamSource,
  reducer: Reducer<C, S>,
  options: ReadOptions,
  parse: (event: StreamEvent) => C | undefined = parseChunk,
): AsyncGenerator<S, void, undefined> {
  for await (const events of readBatches(source, options)) {
    for (const event of events) {
      const chunk = event.data.trim() === '[DONE]' ? undefined : parse(event);
      if (chunk !== undefined) reducer.apply(chunk);
    }
    yield reducer.snapshot();
  }
}

/** The chunk of an event. */
export function parseChunk<C>({ data }: StreamEvent): C {
  try {
    return JSON.parse(data) as C;
  } catch {
    throw new HeadwaterError('stream.json', `the stream has an event that is not JSON: ${data.slice(0, 80)}`);
  }
}
