/** A stream of what a generator gives. Cancelling it aborts what the generator waits for. */
export function toStream<T>(items: AsyncGenerator<T, void, undefined>, leave: AbortController): ReadableStream<T> {
  return new ReadableStream<T>({
    async pull(controller) {
      const { value, done } = await items.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      leave.abort(reason);
      await items.return().catch(() => {});
    },
  });
}
