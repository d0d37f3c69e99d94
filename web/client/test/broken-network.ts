// A network that fails in the way a test wants: a `fetch` whose event streams break off, or go silent.

export interface Failure {
  /** After how many bytes of a stream; at once if 0. */
  after: number;
  /** `cut` breaks off, `silence` sends nothing any more. */
  how: 'cut' | 'silence';
}

/** A `fetch` whose streams fail, the first like the first of `failures`, and so on; those after the last are left alone. */
export function brokenFetch(...failures: Failure[]) {
  const streams: string[] = [];
  const broken: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init);
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
    const failure = failures[streams.length];
    streams.push(input instanceof Request ? input.url : String(input));
    return failure ? new Response(breakOff(response.body, failure), response) : response;
  };
  return { fetch: broken, streams };
}

function breakOff(body: ReadableStream<Uint8Array>, { after, how }: Failure): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = after;
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = left > 0 ? await reader.read() : { value: undefined, done: false };
      if (done) return controller.close();
      if (value) controller.enqueue(value.subarray(0, left));
      left -= value?.length ?? 0;
      if (left > 0) return;
      void reader.cancel().catch(() => {});
      if (how === 'cut') controller.error(new TypeError('terminated'));
      else await new Promise(() => {});
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
