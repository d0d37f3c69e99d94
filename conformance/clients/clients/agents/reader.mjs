// The contract's events as the parts of UI messages. What the contract does not name is passed over, but for what a page
// needs to answer (`tool.approval`, `interrupt`), and for attempts, where the reader knows them.

export class Reader {
  messages = [];
  error = null;
  run = null;
  status = 'ready';
  lastEventId = null;
  knowsAttempts = false;
  /** What waits for an answer, by its kind. */
  asked = new Map();
  #attempts = new WeakMap();

  /** A new answer, or the same one anew. */
  begin() {
    this.messages = [];
    this.error = null;
    this.run = null;
    this.lastEventId = null;
    this.asked.clear();
  }

  async read(body) {
    this.error = null;
    this.status = 'streaming';
    for await (const { event, data, id } of events(body)) {
      this.#apply(event, JSON.parse(data));
      if (id !== null) this.lastEventId = id;
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
        this.#delta(data);
        break;
      case 'tool.call':
        Object.assign(this.#tool(data), { state: data.state, input: data.input, inputText: undefined });
        break;
      case 'tool.delta': {
        const tool = this.#tool(data);
        tool.state = data.state;
        tool.inputText = (tool.inputText ?? '') + data.delta;
        break;
      }
      case 'tool.result': {
        const { state, output, errorText } = data;
        Object.assign(this.#tool(data), { state, ...(errorText === undefined ? { output } : { errorText }) });
        if (this.asked.get('approval')?.toolCallId === data.toolCallId) this.asked.delete('approval');
        break;
      }
      case 'source': {
        const part = { type: 'source-url', sourceId: data.sourceId, url: data.url, title: data.title };
        this.#message(data).parts.push(part);
        this.#attempts.set(part, data.attempt);
        break;
      }
      case 'error':
        this.error = data.message;
        if (data.terminal !== false) this.status = 'error';
        break;
      case 'done':
        this.status = 'ready';
        break;
      case 'tool.approval':
        this.asked.set('approval', data);
        break;
      case 'interrupt':
        this.asked.set('interrupt', data);
        break;
      case 'interrupt.answer':
        this.asked.delete('interrupt');
        break;
      case 'attempt.retract':
        if (this.knowsAttempts) this.#retract(data.attempt);
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

  #delta(data) {
    const { parts } = this.#message(data);
    const last = parts.at(-1);
    const same = last?.type === 'text' && (!this.knowsAttempts || this.#attempts.get(last) === data.attempt);
    const part = same ? last : { type: 'text', text: '' };
    if (part !== last) parts.push(part);
    part.text += data.delta;
    this.#attempts.set(part, data.attempt);
  }

  #tool(data) {
    const all = this.messages.flatMap((message) => message.parts);
    let part = all.find((part) => part.toolCallId === data.toolCallId);
    if (!part) {
      part = { type: `tool-${data.toolName}`, toolCallId: data.toolCallId };
      this.#message(data).parts.push(part);
      this.#attempts.set(part, data.attempt);
    }
    return part;
  }

  #retract(attempt) {
    for (const message of this.messages) {
      message.parts = message.parts.filter((part) => this.#attempts.get(part) !== attempt || part.output !== undefined);
    }
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
