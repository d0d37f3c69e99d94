// CopilotKit's core with the agent that its React components have for a runtime.

import { randomUUID } from 'node:crypto';
import { CopilotKitCore, ProxiedCopilotRuntimeAgent } from '@copilotkit/core';

export class Page {
  #where;
  #core;
  #agent;
  #error = null;

  constructor(where) {
    this.#where = where;
    this.#open();
  }

  #open() {
    const { id, api } = this.#where;
    this.#core = new CopilotKitCore({ runtimeUrl: api, runtimeTransport: 'rest', deferInitialConnection: true });
    this.#core.subscribe({ onError: ({ error }) => void (this.#error ??= error.message) });
    this.#agent = new ProxiedCopilotRuntimeAgent({ runtimeUrl: api, agentId: 'network', transport: 'rest', threadId: id });
  }

  async send(text) {
    this.#agent.addMessage({ id: randomUUID(), role: 'user', content: text });
    await this.#attempt((agent) => this.#core.runAgent({ agent }));
  }

  /** The page is loaded again: it connects to its thread. What the thread has not is asked again. */
  async recover() {
    const asked = this.#agent.messages.filter(({ role }) => role === 'user');
    const shown = this.#agent.messages;
    this.#open();
    await this.#attempt((agent) => this.#core.connectAgent({ agent }));
    const { messages } = this.#agent;
    const begun = messages.filter(({ role }) => role === 'user').length;
    if (this.#error) {
      // The next try begins with what was there.
      if (begun < asked.length) this.#agent.setMessages(shown);
      return;
    }
    if (begun === asked.length && messages.at(-1).role === 'assistant') return;
    if (begun < asked.length) this.#agent.setMessages(shown.slice(0, shown.findLastIndex(({ role }) => role === 'user') + 1));
    await this.#attempt((agent) => this.#core.runAgent({ agent }));
  }

  async #attempt(run) {
    this.#error = null;
    await run(this.#agent).catch((thrown) => (this.#error ??= thrown.message));
  }

  get error() {
    return this.#error;
  }

  get messages() {
    return this.#agent.messages.map(({ role, content }) => ({ role, text: content ?? '' }));
  }

  close() {}
}
