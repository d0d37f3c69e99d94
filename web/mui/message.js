// A message of MUI X Chat, built from the chunks of a stream.
//
// MUI's client builds messages only from streams that it asked for itself. After a reload it asks for none, so the adapter
// builds the message of a run that is still active, and reports it as a realtime event.

export class StreamedMessage {
  #message;
  /** The parts that still grow: their place by kind and id. */
  #open = new Map();

  constructor(conversationId) {
    this.#message = { conversationId, role: 'assistant', status: 'streaming', parts: [] };
  }

  /** The message so far, or undefined before its start. Each state is an object of its own. */
  get message() {
    return this.#message.id === undefined ? undefined : this.#message;
  }

  apply(chunk) {
    const [, kind, step] = /^(text|reasoning)-(start|delta|end)$/.exec(chunk.type) ?? [];
    if (kind) this.#block(kind, step, chunk);
    else if (chunk.type.startsWith('tool-')) this.#tool(chunk);
    else if (/^(source-url|source-document|file|data-.*)$/.test(chunk.type)) this.#push(chunk);
    else if (chunk.type === 'start-step') this.#push({ type: 'step-start' });
    else if (chunk.type === 'start') this.#change({ id: chunk.messageId });
    else if (chunk.type === 'message-updated') this.#change({ parts: chunk.message.parts });
    else if (chunk.type === 'message-metadata') this.#change({ metadata: { ...this.#message.metadata, ...chunk.metadata } });
    else if (chunk.type === 'finish') this.#change({ status: 'sent' });
    else if (chunk.type === 'abort') this.#change({ status: 'cancelled' });
  }

  fail() {
    this.#change({ status: 'error' });
  }

  #change(fields) {
    this.#message = { ...this.#message, ...fields };
  }

  #push(part) {
    this.#change({ parts: [...this.#message.parts, part] });
  }

  #replace(place, part) {
    this.#change({ parts: this.#message.parts.map((known, at) => (at === place ? part : known)) });
  }

  #block(kind, step, { id, delta = '' }) {
    const key = `${kind} ${id}`;
    if (step !== 'end' && !this.#open.has(key)) {
      this.#open.set(key, this.#message.parts.length);
      this.#push({ type: kind, text: '', state: 'streaming' });
    }
    const place = this.#open.get(key);
    const part = this.#message.parts[place];
    if (!part) return;
    if (step === 'end') this.#open.delete(key);
    this.#replace(place, { ...part, text: part.text + delta, ...(step === 'end' ? { state: 'done' } : {}) });
  }

  #tool({ type, toolCallId, dynamic, inputTextDelta, ...fields }) {
    const state = STATES[type];
    if (!state) return;
    const { parts } = this.#message;
    const place = parts.findIndex(({ toolInvocation: call }) => call?.toolCallId === toolCallId);
    const { reason, ...known } = fields;
    const decision = type === 'tool-output-denied' ? { approval: { approved: false, reason } } : {};
    const toolInvocation = { ...parts[place]?.toolInvocation, toolCallId, ...known, ...decision, state };
    if (place >= 0) this.#replace(place, { ...parts[place], toolInvocation });
    else this.#push({ type: dynamic ? 'dynamic-tool' : 'tool', toolInvocation });
  }
}

/** The state that a chunk leads to. */
const STATES = {
  'tool-input-start': 'input-streaming',
  'tool-input-available': 'input-available',
  'tool-input-error': 'output-error',
  'tool-approval-request': 'approval-requested',
  'tool-output-available': 'output-available',
  'tool-output-error': 'output-error',
  'tool-output-denied': 'output-denied',
};
