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
    stop();
    if (!response.body) return response;
    const reader = response.body.getReader();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        onActivity();
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        } finally {
          stop();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(body, response);
  } catch (error) {
    stop();
    throw error;
  }
}
