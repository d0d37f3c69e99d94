/**
 * Makes a request that fails when nothing arrives for `stallTimeout`, neither its response nor a part of its body. The
 * server sends a heartbeat every 15 seconds into streams, so one that is silent for longer is dead.
 */
export async function watchedFetch(fetch: typeof globalThis.fetch, target: string, init: RequestInit, stallTimeout: number): Promise<Response> {
  const stall = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => clearTimeout(timer);
  const onActivity = () => {
    stop();
    timer = setTimeout(() => stall.abort(new Error('the server did not respond')), stallTimeout);
  };
  onActivity();
  try {
    const signal = init.signal ? AbortSignal.any([stall.signal, init.signal]) : stall.signal;
    const response = await fetch(target, { ...init, signal });
    if (!response.body) stop();
    const watch = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        onActivity();
        controller.enqueue(bytes);
      },
      flush: stop,
    });
    return new Response(response.body?.pipeThrough(watch) ?? null, response);
  } catch (error) {
    stop();
    throw error;
  }
}
