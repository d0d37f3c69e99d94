import { backoff, pause } from '../chat/wait.js';

export interface ResumableFetchOptions {
  /** In place of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** How often a cut stream is asked for again without anything new in between: 10 times. */
  maxRetries?: number | undefined;
  /** The time before the n-th attempt, in milliseconds. */
  retryDelay?: ((attempt: number) => number) | undefined;
}

/** What ends a stream in the dialects: a stream that is closed before it was cut. */
const END = /^data: ?(\[DONE\]|.*"type":"(RUN_FINISHED|RUN_ERROR|finish|abort)")|^event: ?done$/m;

/**
 * A `fetch` whose event streams continue after a cut. It works with every client that takes a `fetch`, for URLs of the
 * form `…/v1/<dialect>/…` on a server that sends `x-run-id` and cursors.
 *
 * @example
 * ```ts
 * fetchServerSentEvents('/v1/ag-ui/chat?profile=tanstack', { fetchClient: resumableFetch() });
 * ```
 */
export function resumableFetch({ fetch = globalThis.fetch, maxRetries = 10, retryDelay = backoff }: ResumableFetchOptions = {}): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const url = input instanceof Request ? input.url : String(input);
    const run = response.headers.get('x-run-id');
    const [, base, dialect] = /^(.*)\/v1\/([^/?]+)/.exec(url) ?? [];
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (!response.ok || !response.body || !run || dialect === undefined || !isStream) return response;

    const profile = /[?&](profile=[^&]*)/.exec(url)?.[1];
    const again = `${base}/v1/runs/${encodeURIComponent(run)}/events?dialect=${dialect}&until=wait${profile ? `&${profile}` : ''}`;
    const signal = init?.signal ?? new AbortController().signal;
    const reconnect = (cursor: string) => {
      const headers = new Headers(init?.headers);
      headers.set('last-event-id', cursor);
      headers.delete('content-type');
      return fetch(again, { headers, signal, ...(init?.credentials ? { credentials: init.credentials } : {}) });
    };
    const blocks = readBlocks(response, reconnect, signal, maxRetries, retryDelay);
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { value, done } = await blocks.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        await blocks.return();
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

/** Whole blocks of a stream, over as many connections as it takes: half of one that a cut left is sent again. */
async function* readBlocks(
  response: Response,
  reconnect: (cursor: string) => Promise<Response>,
  signal: AbortSignal,
  maxRetries: number,
  retryDelay: (attempt: number) => number,
): AsyncGenerator<string, void, undefined> {
  let cursor: string | undefined;
  for (let attempt = 0; ; attempt += 1) {
    const reader = response.body?.getReader();
    try {
      const decoder = new TextDecoder();
      let rest = '';
      for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) {
        rest += decoder.decode(step.value, { stream: true });
        const end = rest.lastIndexOf('\n\n') + 2;
        if (end < 2) continue;
        const whole = rest.slice(0, end);
        rest = rest.slice(end);
        cursor = [...whole.matchAll(/^id: ?(.*)$/gm)].at(-1)?.[1] ?? cursor;
        attempt = 0;
        yield whole;
        if (END.test(whole)) return;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (cursor === undefined) throw error;
    } finally {
      reader?.cancel().catch(() => {});
    }
    for (let isOpen = false; !isOpen; attempt += isOpen ? 0 : 1) {
      // Without a cursor there is no place to continue from, and without an end the client says what it always says.
      if (cursor === undefined || attempt >= maxRetries) return;
      await pause(retryDelay(attempt + 1), signal);
      const next = await reconnect(cursor).catch(() => undefined);
      signal.throwIfAborted();
      if (next && next.status < 500 && !next.ok) return;
      isOpen = next?.ok === true;
      if (next?.ok) response = next;
    }
  }
}
