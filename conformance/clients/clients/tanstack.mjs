// TanStack's newest `ChatClient`: AG-UI over SSE. It reconnects on its own, with `Last-Event-ID` on a
// repeated POST; a page that did not even get the first byte is reloaded, and hydrates.

import { endpoint, stop } from '../lib/http.mjs';
import { until } from '../lib/until.mjs';

export default {
  name: 'tanstack',
  family: 'tanstack',
  dialect: 'ag-ui',
  // A reloaded page has the same content in other messages.
  exact: false,
  shows: ['text', 'reasoning', 'tools'],
  cannot: {},
  stopsAs: 'a person asked for it',
  async open(where) {
    const [package_, { toolDefinition }] = await Promise.all([import('@tanstack/ai-client'), import('@tanstack/ai')]);
    return new Driver({ ...package_, toolDefinition }, { fetch: globalThis.fetch, ...where });
  },
};

/** The client's error when it could not reconnect. */
const LOST = /read failed|terminated|fetch failed|cut short|Durable|HTTP error/;

class Driver {
  #package;
  #where;
  #client;
  #asked = 0;
  #unanswered = 0;
  #tools = new Map();

  constructor(package_, where) {
    this.#package = package_;
    this.#where = where;
  }

  #open(options = {}) {
    const fetchClient = async (...request) => {
      this.#asked += 1;
      this.#unanswered += 1;
      try {
        return await this.#where.fetch(...request);
      } finally {
        this.#unanswered -= 1;
      }
    };
    const { toolDefinition, clientTools } = this.#package;
    const tools = [...this.#tools].map(([name, output]) =>
      toolDefinition({ name, description: name, inputSchema: { type: 'object' } }).client(async () => output),
    );
    this.#client = new this.#package.ChatClient({
      threadId: this.#where.session,
      connection: this.#package.fetchServerSentEvents(endpoint(this.#where, 'ag-ui'), { fetchClient }),
      tools: clientTools(...tools),
      onError: () => {},
      ...options,
    });
  }

  get #chat() {
    if (!this.#client) this.#open();
    return this.#client;
  }

  registerTool(name, output) {
    this.#tools.set(name, output);
  }

  async send(text) {
    await this.#chat.sendMessage(text);
    await this.#rest();
  }

  async approve(approved, reason) {
    await this.#resolve({ approved, ...(reason === undefined ? {} : { reason }) });
  }

  async answer(answer) {
    await this.#resolve(answer);
  }

  async stop() {
    await stop(this.#where);
  }

  async regenerate() {
    await this.#chat.reload();
    await this.#rest();
  }

  /** Reloads the page. */
  async resume() {
    // If the client reconnected on its own there is nothing to do; a failure of the run is no reason to
    // reload either.
    if (!LOST.test(this.error() ?? '')) return;
    const said = this.messages();
    this.#client.dispose();
    this.#open({ persistence: true });
    const before = this.#asked;
    this.#client.attach();
    await until('the request for the conversation', () => this.#asked > before);
    await this.#rest();
    // What was cut before the server had it must be sent again; the same message is never a second turn.
    if (this.messages().length === 0) {
      this.#client.setMessagesManually(said);
      await this.regenerate();
    }
  }

  messages() {
    return this.#chat.getMessages();
  }

  error() {
    return this.#chat.getError()?.message ?? null;
  }

  close() {
    this.#client?.dispose();
  }

  async #resolve(payload) {
    const open = this.#chat.getInterrupts();
    if (open.length === 0) throw new Error('nothing was asked');
    const before = this.#asked;
    for (const interrupt of open) interrupt.resolveInterrupt(payload);
    await until('the answer to be sent', () => this.#asked > before);
    await this.#rest();
  }

  #busy() {
    return this.#unanswered > 0 || this.#chat.getIsLoading() || ['submitted', 'streaming'].includes(this.#chat.getStatus());
  }

  #rest() {
    return until(
      () => `rest, the client is ${this.#chat.getStatus()}`,
      async () => {
        if (this.#busy()) return false;
        const before = this.#asked;
        // A continuation follows some turns of the loop after the end of the one before.
        for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setTimeout(resolve, 0));
        return this.#asked === before && !this.#busy();
      },
    );
  }
}
