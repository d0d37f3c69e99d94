// The events of the agents contract as the parts of UI messages, and the few extensions of docs/dialects.md: `reasoning.delta`,
// `file`, `data`, `partId` and `approval`.

export class Reader {
  messages = [];
  error = null;
  run = null;
  status = 'ready';
  lastEventId = null;
  /** An attempt failed: what the stream holds of the answer is out of date. */
  stale = false;
  /** The `partId` of a part, which UI messages do not have. */
  #ids = new WeakMap();

  /** A new answer, or the same one from its beginning. */
  begin() {
    this.messages = [];
    this.error = null;
    this.run = null;
    this.lastEventId = null;
    this.stale = false;
  }

  /** Reads a response to its end; with `stopWhenStale` only until an attempt fails. */
  async read(body, { stopWhenStale = false } = {}) {
    this.error = null;
    this.status = 'streaming';
    for await (const { event, data, id } of events(body)) {
      this.#apply(event, JSON.parse(data));
      if (id !== null) this.lastEventId = id;
      if (this.stale && stopWhenStale) return;
    }
    // A stream that ends without `done` and without a terminal error was cut.
    if (this.status === 'streaming') this.error = 'the stream ended before the run did';
  }

  #apply(event, data) {
    switch (event) {
      case 'meta':
        this.run = data.runId;
        break;
      case 'message.start':
        this.#message(data);
        break;
      case 'message.delta':
        this.#text('text', data).text += data.delta;
        break;
      case 'reasoning.delta':
        this.#text('reasoning', data).text += data.delta;
        break;
      case 'tool.call': {
        const { state, input, approval } = data;
        const tool = this.#tool(data);
        Object.assign(tool, { state, inputText: undefined });
        if (input !== undefined) tool.input = input;
        if (approval) tool.approval = { ...tool.approval, ...approval };
        break;
      }
      case 'tool.delta': {
        const tool = this.#tool(data);
        tool.state = data.state;
        tool.inputText = (tool.inputText ?? '') + data.delta;
        break;
      }
      case 'tool.result': {
        const { state, output, errorText } = data;
        Object.assign(this.#tool(data), { state, ...(errorText === undefined ? { output } : { errorText }) });
        break;
      }
      case 'source':
        this.#message(data).parts.push({ type: 'source-url', sourceId: data.sourceId, url: data.url, title: data.title });
        break;
      case 'file':
        this.#message(data).parts.push({ type: 'file', url: data.url, mediaType: data.mediaType, filename: data.filename });
        break;
      case 'data':
        if (!data.transient) this.#data(data);
        break;
      case 'status':
        if (data.state === 'retrying') this.stale = true;
        break;
      case 'error':
        this.error = data.message;
        if (data.terminal !== false) this.status = 'error';
        break;
      case 'done':
        this.status = 'ready';
        break;
    }
  }

  #message({ messageId }) {
    const known = this.messages.find((message) => message.id === messageId) ?? (messageId ? null : this.messages.at(-1));
    if (known) return known;
    const message = { id: messageId, role: 'assistant', parts: [] };
    this.messages.push(message);
    return message;
  }

  /** The part that a delta goes to: the one that it names, else the last one if it is of the kind. */
  #text(type, data) {
    const { parts } = this.#message(data);
    const { partId } = data;
    const named = partId && parts.find((part) => part.type === type && this.#ids.get(part) === partId);
    const last = !partId && parts.at(-1)?.type === type && parts.at(-1);
    const part = named || last || { type, text: '' };
    if (!parts.includes(part)) parts.push(part);
    this.#ids.set(part, partId);
    return part;
  }

  #tool(data) {
    const all = this.messages.flatMap((message) => message.parts);
    let part = all.find((part) => part.toolCallId === data.toolCallId);
    if (!part) {
      part = { type: '', toolCallId: data.toolCallId };
      this.#message(data).parts.push(part);
    }
    if (data.toolName) part.type = `tool-${data.toolName}`;
    return part;
  }

  #data({ name, dataId, data, ...place }) {
    const { parts } = this.#message(place);
    const type = `data-${name}`;
    const known = dataId && parts.find((part) => part.type === type && part.id === dataId);
    if (known) known.data = data;
    else parts.push({ type, id: dataId, data });
  }
}

/** Server-Sent Events as their standard has them. */
async function* events(body) {
  let rest = '';
  let event = { event: 'message', data: [], id: null };
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === '') {
        if (event.data.length > 0) yield { ...event, data: event.data.join('\n') };
        event = { event: 'message', data: [], id: null };
        continue;
      }
      const colon = line.indexOf(':');
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'event') event.event = value;
      if (field === 'data') event.data.push(value);
      if (field === 'id') event.id = value;
    }
  }
}
