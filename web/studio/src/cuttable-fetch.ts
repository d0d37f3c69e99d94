/** A `fetch` whose streams of events can be broken off from outside. */
export class CuttableFetch {
  #break: ((error: Error) => void) | undefined;
  #onConnection: (run: string) => void;

  /** `onConnection` is called for each stream that is opened, with its run. */
  constructor(onConnection: (run: string) => void) {
    this.#onConnection = onConnection;
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init);
    const run = /\/runs\/([^/]+)\/events/.exec(String(input))?.[1];
    if (!run || !response.ok || !response.body) return response;
    this.#onConnection(decodeURIComponent(run));
    return new Response(this.#cuttable(response.body), { status: response.status, headers: response.headers });
  };

  /** Breaks the stream that was opened last; false if none is open. */
  cut(): boolean {
    if (!this.#break) return false;
    this.#break(new TypeError('the connection was cut'));
    return true;
  }

  #cuttable(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    let broken = false;
    let mine: ((error: Error) => void) | undefined;
    const end = () => {
      if (this.#break === mine) this.#break = undefined;
    };
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        mine = (error) => {
          broken = true;
          end();
          controller.error(error);
          void reader.cancel().catch(() => {});
        };
        this.#break = mine;
      },
      pull: async (controller) => {
        try {
          const { value, done } = await reader.read();
          if (broken) return;
          if (!done) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          if (broken) return;
          end();
          controller.error(error);
        }
      },
      cancel: (reason) => {
        end();
        return reader.cancel(reason);
      },
    });
  }
}
