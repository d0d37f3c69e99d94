// AG-UI's `HttpAgent`, with its verifier. It cannot reconnect, so it repeats its POST with the same run id.

import { randomUUID } from 'node:crypto';
import { load } from '../../vendors/load.mjs';
import { endpoint, stop } from '../lib/http.mjs';

export function agUi({ name, module, stopsAs }) {
  return {
    name,
    family: 'ag-ui',
    dialect: 'ag-ui',
    shows: ['text', 'reasoning', 'tools'],
    cannot: {},
    stopsAs,
    async open(where) {
      const { HttpAgent } = await load(module);
      return new Driver(HttpAgent, { fetch: globalThis.fetch, ...where });
    },
  };
}

export default agUi({ name: 'ag-ui', module: '@ag-ui/client' });

class Driver {
  #agent;
  #where;
  #last;
  #error = null;
  #tools = new Map();
  #interrupts = [];

  constructor(HttpAgent, where) {
    this.#where = where;
    this.#agent = new HttpAgent({ url: endpoint(where, 'ag-ui'), threadId: where.session, fetch: where.fetch });
  }

  registerTool(name, output) {
    this.#tools.set(name, output);
  }

  async send(text) {
    this.#agent.addMessage({ id: randomUUID(), role: 'user', content: text });
    await this.#run({});
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

  async resume() {
    await this.#attempt(this.#last);
    await this.#carryOn();
  }

  messages() {
    return this.#agent.messages;
  }

  error() {
    return this.#error;
  }

  close() {}

  async #resolve(payload) {
    if (this.#interrupts.length === 0) throw new Error('nothing was asked');
    this.#execute();
    await this.#run({
      resume: this.#interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload })),
    });
  }

  async #run(parameters) {
    const tools = [...this.#tools.keys()].map((name) => ({ name, description: name, parameters: { type: 'object' } }));
    await this.#attempt({ runId: randomUUID(), tools, ...parameters });
    await this.#carryOn();
  }

  /** Where something is asked besides, the client wants the answer to that with the results. */
  async #carryOn() {
    if (this.#error === null && this.#interrupts.length === 0 && this.#execute()) await this.#run({});
  }

  /** The page's tools are called when the run has ended; gives whether there were any. */
  #execute() {
    const calls = this.#agent.messages.flatMap((message) => message.toolCalls ?? []);
    const results = new Set(this.#agent.messages.map((message) => message.toolCallId));
    const mine = calls.filter((call) => this.#tools.has(call.function.name) && !results.has(call.id));
    for (const call of mine) {
      const content = JSON.stringify(this.#tools.get(call.function.name));
      this.#agent.addMessage({ id: randomUUID(), role: 'tool', toolCallId: call.id, content });
    }
    return mine.length > 0;
  }

  async #attempt(parameters) {
    this.#last = parameters;
    this.#error = null;
    const ended = (outcome) => {
      this.#interrupts = outcome?.type === 'interrupt' ? outcome.interrupts : [];
    };
    try {
      await this.#agent.runAgent(parameters, {
        onRunFinishedEvent: ({ event }) => ended(event.outcome),
        // A RUN_ERROR reaches the subscriber only: `runAgent` resolves all the same.
        onRunErrorEvent: ({ event }) => void (this.#error = event.message),
      });
    } catch (thrown) {
      this.#error = thrown.message;
    }
  }
}
