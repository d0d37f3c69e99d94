// AG-UI's `HttpAgent`. It has no way to resume: a page runs it again after the last question.

import { randomUUID } from 'node:crypto';
import { HttpAgent } from '@ag-ui/client';

export class Page {
  #agent;
  #run;
  #error = null;

  constructor({ id, api }) {
    this.#agent = new HttpAgent({ url: api, threadId: id });
  }

  async send(text) {
    this.#agent.addMessage({ id: randomUUID(), role: 'user', content: text });
    this.#run = randomUUID();
    await this.#attempt();
  }

  /** Retry: the same run once more, without the part of its answer that came. */
  async recover() {
    const { messages } = this.#agent;
    this.#agent.setMessages(messages.slice(0, messages.findLastIndex(({ role }) => role === 'user') + 1));
    await this.#attempt();
  }

  async #attempt() {
    this.#error = null;
    const failed = (error) => (this.#error ??= error);
    await this.#agent
      .runAgent({ runId: this.#run }, { onRunErrorEvent: ({ event }) => void failed(event.message) })
      .catch((thrown) => failed(thrown.message));
  }

  get error() {
    return this.#error;
  }

  get messages() {
    return this.#agent.messages.map(({ role, content }) => ({ role, text: content ?? '' }));
  }

  close() {}
}
