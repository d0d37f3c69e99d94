import { HeadwaterError } from './errors.js';

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

const MAX_EVENT_LENGTH = 2 ** 23;

/**
 * Reads the JSON values of a stream, Server-Sent Events or NDJSON; the bytes show which one. `[DONE]` ends it. Values are
 * of any type, like those of `JSON.parse`, unless it is given.
 *
 * @example
 * ```ts
 * for await (const chunk of readStream<Chunk>(await fetch('/api/chat'))) render(chunk);
 * ```
 */
export async function* readStream<T = any>(source: StreamSource, options?: ReadOptions): AsyncGenerator<T, void, undefined> {
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
  signal?.addEventListener('abort', stop);
  const parse = createParser(maxEventLength, framing);
  const decoder = new TextDecoder();
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { value, done } = await reader.read();
      signal?.throwIfAborted();
      if (value) onActivity?.();
      const events = parse(decoder.decode(value, { stream: !done }), done && keepTail);
      if (events.length > 0) yield events;
      if (done) return;
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
  }
}

/** Makes events of text that arrives in pieces. Lines end with LF, CR or CRLF. */
function createParser(maxLength: number, framing: 'sse' | 'ndjson' | undefined) {
  let rest = '';
  let endedWithCr = false;
  let block: Partial<StreamEvent> = {};

  /** Looks at what there is of a line. */
  const check = (line: string) => {
    const first = framing ? undefined : line.trimStart()[0];
    // The content type may lie, the first character does not.
    if (first === '<') throw new HeadwaterError('stream.html', 'unexpected response: check the URL');
    if (first) framing = first === '{' || first === '[' ? 'ndjson' : 'sse';
    if (line.length + (block.data?.length ?? 0) > maxLength) throw new HeadwaterError('stream.too-large', `event of more than ${maxLength} characters`);
  };

  /** The events that `text` completes. With `isEnd` the last one needs no blank line. */
  return (text: string, isEnd: boolean): StreamEvent[] => {
    const events: StreamEvent[] = [];
    // The two halves of a CRLF may arrive in two pieces.
    if (endedWithCr && text[0] === '\n') text = text.slice(1);
    endedWithCr = text ? text.endsWith('\r') : endedWithCr;
    const lines = text.includes('\r') ? text.split(/\r\n?|\n/) : text.split('\n');
    // What has no line end is not searched again, so a long line in many pieces costs its length once.
    lines[0] = rest + lines[0];
    rest = lines.pop() as string;
    const whole = lines.length;
    if (isEnd) lines.push(rest, '');
    lines.forEach((line, at) => {
      check(line);
      if (framing === 'ndjson' && line.trim()) {
        block.data = line;
        line = '';
      }
      if (line === '') {
        // Senders forget the blank line, so a complete event counts; half of one is what a cut left, and is sent again.
        if (block.data !== undefined && (at < whole || isComplete(block.data))) events.push(block as StreamEvent);
        block = {};
        return;
      }
      const found = line.indexOf(':');
      const colon = found < 0 ? line.length : found;
      const field = line.slice(0, colon);
      const value = line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
      if (field === 'data') block.data = block.data === undefined ? value : `${block.data}\n${value}`;
      else if ((field === 'event' && value) || (field === 'id' && !value.includes('\0'))) block[field] = value;
    });
    // A page that never ends its first line is found as early as one that does.
    check(rest);
    return events;
  };
}

/** Whether the last line of an event is all of it. */
function isComplete(data: string): unknown {
  try {
    return [JSON.parse(data.slice(data.lastIndexOf('\n') + 1))];
  } catch {
    // `[DONE]` is no JSON either, and the stream ends here anyway.
    return false;
  }
}
