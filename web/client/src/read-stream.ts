import { HeadwaterError } from './errors.js';
import { createLineSplitter } from './lines.js';

/** One event of a stream as it was sent: a block of Server-Sent Events, or a line of NDJSON. */
export interface StreamEvent {
  /** The name in `event:`. */
  event?: string;
  /** The cursor in `id:`. */
  id?: string;
  data: string;
}

/** What can be read: a response, or its body. */
export type StreamSource = Response | ReadableStream<Uint8Array> | null | undefined;

export interface ReadOptions {
  /** Stops reading. The connection is closed; the run continues. */
  signal?: AbortSignal | undefined;
  /** The longest event that is taken, in characters: 8 Mi. A longer one is an error, `stream.too-large`. */
  maxEventLength?: number | undefined;
  /** How the stream is cut into events; by default it is detected from the first bytes. */
  framing?: 'sse' | 'ndjson' | undefined;
  /** Whether a last event without its blank line counts, if it is complete JSON: it does, unless the sender repeats it. */
  keepTail?: boolean | undefined;
  /** Called whenever bytes arrive, comments included: a stream that is silent but alive. */
  onActivity?: (() => void) | undefined;
}

const MAX_EVENT_LENGTH = 8 * 1024 * 1024;

/**
 * Reads the JSON values of a stream, Server-Sent Events or NDJSON; the bytes show which one. `[DONE]` ends it.
 *
 * @example
 * ```ts
 * for await (const chunk of readStream<Chunk>(await fetch('/api/chat'))) render(chunk);
 * ```
 */
export async function* readStream<T = unknown>(source: StreamSource, options?: ReadOptions): AsyncGenerator<T, void, undefined> {
  for await (const events of readBatches(source, options)) {
    for (const event of events) {
      if (event.data.trim() === '[DONE]') return;
      yield parseEvent<T>(event);
    }
  }
}

/** The JSON value of an event. */
export function parseEvent<T>({ data }: StreamEvent, fits: (value: T) => unknown = () => true): T {
  try {
    const value = JSON.parse(data) as T;
    if (fits(value)) return value;
  } catch {
    // The same error.
  }
  throw new HeadwaterError('stream.json', `unexpected event: ${data.slice(0, 80)}`);
}

/** Reads the events of a stream without looking into them; `[DONE]` is one of them. */
export async function* readEvents(source: StreamSource, options: ReadOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
  for await (const events of readBatches(source, options)) yield* events;
}

/** The events of a stream, as many at a time as one piece of bytes completes. */
export async function* readBatches(
  source: StreamSource,
  { signal, maxEventLength = MAX_EVENT_LENGTH, keepTail = true, framing, onActivity }: ReadOptions = {},
): AsyncGenerator<StreamEvent[], void, undefined> {
  const body = source instanceof Response ? source.body : source;
  if (!body) throw new HeadwaterError('stream.empty', 'the stream has no body');
  const reader = body.getReader();
  // Ends a `read()` that waits for a server that sends nothing.
  const stop = () => void reader.cancel().catch(() => {});
  signal?.addEventListener('abort', stop, { once: true });
  const parser = createParser(maxEventLength, framing);
  const decoder = new TextDecoder();
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { value, done } = await reader.read();
      signal?.throwIfAborted();
      if (value) onActivity?.();
      const events = parser.push(decoder.decode(value, { stream: !done }));
      if (events.length > 0) yield events;
      if (done) break;
    }
    const last = keepTail ? parser.end() : undefined;
    if (last) yield [last];
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
  }
}

/** Makes events of text. */
function createParser(maxLength: number, framing: 'sse' | 'ndjson' | undefined) {
  const lines = createLineSplitter();
  let block: Partial<StreamEvent> = {};

  const limit = (length: number) => {
    if (length > maxLength) throw new HeadwaterError('stream.too-large', `the event has more than ${maxLength} characters`);
  };

  /** The content type may lie, the first character does not. */
  const recognise = (line: string) => {
    const first = framing ? undefined : line.trimStart()[0];
    if (first === '<') throw new HeadwaterError('stream.html', 'a page instead of a stream: check the URL');
    if (first) framing = first === '{' || first === '[' ? 'ndjson' : 'sse';
  };

  /** Ends a block. One without data is no event. */
  const take = (): StreamEvent | undefined => {
    const taken = block as StreamEvent;
    block = {};
    return taken.data === undefined ? undefined : taken;
  };

  const read = (line: string): StreamEvent | undefined => {
    recognise(line);
    limit(line.length + (block.data?.length ?? 0));
    if (framing === 'ndjson') return line.trim() ? { data: line } : undefined;
    if (line === '') return take();
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) as RegExpExecArray;
    if (field === 'data') block.data = block.data === undefined ? value : `${block.data}\n${value}`;
    else if ((field === 'event' && value) || (field === 'id' && !value.includes('\0'))) block[field] = value;
    return undefined;
  };

  return {
    /** The events that `text` completes. */
    push(text: string): StreamEvent[] {
      const events = lines.push(text).map(read);
      limit(lines.rest().length);
      // A page that never ends its first line is found as early as one that does.
      recognise(lines.rest());
      return events.filter((found) => found !== undefined);
    },

    /**
     * The event that lacks its blank line. Senders forget it, so a complete one counts; half of one is what a cut
     * left, and its sender will repeat it.
     */
    end(): StreamEvent | undefined {
      const rest = lines.rest();
      const last = (rest && read(rest)) || take();
      if (!last || last.data.trim() === '[DONE]') return last;
      try {
        JSON.parse(last.data.slice(last.data.lastIndexOf('\n') + 1));
        return last;
      } catch {
        return undefined;
      }
    },
  };
}
