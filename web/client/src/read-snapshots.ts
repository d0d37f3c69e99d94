import { parseEvent, readBatches, type ReadOptions, type StreamEvent, type StreamSource } from './read-stream.js';

/** Builds something from chunks. */
interface Reducer<C, S> {
  apply(chunk: C): void;
  /** The stream was closed. */
  end?(): void;
  snapshot(): S;
}

/** What a reducer makes of a stream, once for all chunks that arrive together. After an error, what was there before it. */
export async function* readSnapshots<C, S>(
  source: StreamSource,
  reducer: Reducer<C, S>,
  options: ReadOptions,
  chunksOf: (event: StreamEvent) => Iterable<C> = chunkOf,
): AsyncGenerator<S, void, undefined> {
  for await (const events of readBatches(source, options)) {
    try {
      for (const event of events) for (const chunk of chunksOf(event)) reducer.apply(chunk);
    } catch (error) {
      yield reducer.snapshot();
      throw error;
    }
    yield reducer.snapshot();
  }
  if (!reducer.end) return;
  reducer.end();
  yield reducer.snapshot();
}

const chunkOf = <C>(event: StreamEvent): C[] => (event.data.trim() === '[DONE]' ? [] : [parseEvent<C>(event)]);
