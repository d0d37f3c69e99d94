import { HeadwaterError } from './errors.js';
import { LineSplitter } from './lines.js';

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
  /** Stops reading. The connection is closed; the run goes on. */
  signal?: AbortSignal | undefined;
  /** The longest event that is taken, in characters: 8 Mi. A longer one is an error, `stream.too-large`. */
  maxEventLength?: number | undefined;
  /** How the stream is cut into events; by default it is told from the first bytes. */
  framing?: 'sse' | 'ndjson' | undefined;
  /** Whether a last event without its blank line counts, if it is complete JSON: it does, unless the sender repeats it. */
  keepTail?: boolean | undefined;
  /** Called whenever bytes arrive, comments included: a stream that is silent but alive. */
  onActivity?: (() => void) | undefined;
}

const MAX_EVENT_LENGTH = 8 * 1024 * 1024;

/**
 * Reads the JSON values of a stream, Server-Sent Events or NDJSON; which one is told from the bytes. `[DONE]` ends it.
 *
 * @example
 * ```ts
 * for await (const chunk of readStream<Chunk>(await fetch('/api/chat'))) render(chunk);
 * ```
 */
export async function* readStream<T = unknown>(
  source: StreamSource,
  options: ReadOptions & {
    /** Called for an event that is not JSON, which is then skipped. Without it such an event is an error. */
    onInvalid?: ((data: string) => void) | undefined;
  } = {},
): AsyncGenerator<T, void, undefined> {
  for await (const { data } of readEvents(source, options)) {
    if (data.trim() === '[DONE]') return;
    let value: T;
    try {
      value = JSON.parse(data) as T;
    } catch {
      if (!options.onInvalid) throw new HeadwaterError('stream.json', `the stream has an event that is not JSON: ${data.slice(0, 80)}`);
      options.onInvalid(data);
      continue;
    }
    yield value;
  }
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
  if (!body) throw new HeadwaterError('stream.empty', 'the response has no body');
  const reader = body.getReader();
  // Ends a `read()` that waits for a server that sends nothing.
  const stop = () => void reader.cancel().catch(() => {});
  signal?.addEventListener('abort', stop, { once: true });
  const parser = new EventParser(maxEventLength, framing && framing === 'ndjson');
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
class EventParser {
  #lines = new LineSplitter();
  #isNdjson: boolean | undefined;
  #event: string | undefined;
  #id: string | undefined;
  #data: string[] = [];
  #length = 0;

  #maxLength: number;

  constructor(maxLength: number, isNdjson: boolean | undefined) {
    this.#maxLength = maxLength;
    this.#isNdjson = isNdjson;
  }

  push(text: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    for (const line of this.#lines.push(text)) {
      const event = this.#line(line);
      if (event) events.push(event);
    }
    this.#limit(this.#length + this.#lines.rest.length);
    // A page that never ends its first line is found as early as one that does.
    this.#recognise(this.#lines.rest);
    return events;
  }

  /**
   * The event that lacks its blank line. Senders forget it, so a complete one counts; half of one is what a cut
   * left, and its sender will repeat it.
   */
  end(): StreamEvent | undefined {
    const { rest } = this.#lines;
    const event = (rest ? this.#line(rest) : undefined) ?? this.#block();
    if (!event || event.data.trim() === '[DONE]') return event;
    try {
      JSON.parse(event.data.slice(event.data.lastIndexOf('\n') + 1));
      return event;
    } catch {
      return undefined;
    }
  }

  /** The content type may lie, the first character does not. */
  #recognise(line: string): void {
    if (this.#isNdjson !== undefined) return;
    const first = line.trimStart()[0];
    if (!first) return;
    if (first === '<') throw new HeadwaterError('stream.html', 'the server sent a page instead of a stream: check the URL');
    this.#isNdjson = first === '{' || first === '[';
  }

  #limit(length: number): void {
    if (length > this.#maxLength) {
      throw new HeadwaterError('stream.too-large', `the stream has an event of more than ${this.#maxLength} characters`);
    }
  }

  #line(line: string): StreamEvent | undefined {
    this.#recognise(line);
    if (this.#isNdjson) {
      this.#limit(line.length);
      return line.trim() ? { data: line } : undefined;
    }
    if (line === '') return this.#block();
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') {
      this.#length += value.length + 1;
      this.#limit(this.#length);
      this.#data.push(value);
    } else if (field === 'event') this.#event = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return undefined;
  }

  #block(): StreamEvent | undefined {
    const event: StreamEvent | undefined = this.#data.length > 0 ? { data: this.#data.join('\n') } : undefined;
    if (event && this.#event) event.event = this.#event;
    if (event && this.#id !== undefined) event.id = this.#id;
    this.#event = this.#id = undefined;
    this.#data = [];
    this.#length = 0;
    return event;
  }
}
