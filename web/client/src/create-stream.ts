/** A stream of these chunks, one every `delayMs`: for stories and tests of a page. */
export function createStream<T>(chunks: readonly T[], delayMs = 0): ReadableStream<T> {
  let next = 0;
  return new ReadableStream<T>({
    async pull(controller) {
      if (next >= chunks.length) return controller.close();
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      controller.enqueue(chunks[next++] as T);
    },
  });
}
