// TanStack's `ChatClient`, as `useChat` of `@tanstack/ai-react` has it. It reconnects by itself where the server numbers its events.

import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client';

export class Page {
  #where;
  #client;

  /** `persists` says that the server keeps conversations. */
  constructor(where) {
    this.#where = where;
    this.#open();
  }

  #open() {
    const { id, api, persists } = this.#where;
    const connection = fetchServerSentEvents(api);
    this.#client = new ChatClient({ threadId: id, connection, onError: () => {}, ...(persists ? { persistence: true } : {}) });
  }

  async send(text) {
    await this.#client.sendMessage(text);
    await this.#rest();
  }

  /** A server that keeps conversations: the page is loaded again. Otherwise, or if that brought no answer: Retry. */
  async recover() {
    if (this.#where.persists) {
      const asked = this.#client.getMessages().filter(({ role }) => role === 'user');
      this.#client.dispose();
      this.#open();
      this.#client.attach();
      // It begins to load in a later turn of the loop.
      await new Promise((resolve) => setTimeout(resolve, 300));
      await this.#rest();
      if (this.error) return;
      const messages = this.#client.getMessages();
      const begun = messages.filter(({ role }) => role === 'user').length;
      if (begun === asked.length && messages.at(-1).role === 'assistant') return;
      if (begun < asked.length) this.#client.setMessagesManually([...messages, ...asked.slice(begun)]);
    }
    await this.#client.reload();
    await this.#rest();
  }

  async #rest() {
    for (let quiet = 0; quiet < 3; ) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      quiet = this.#client.getIsLoading() || ['submitted', 'streaming'].includes(this.#client.getStatus()) ? 0 : quiet + 1;
    }
  }

  get error() {
    return this.#client.getError()?.message ?? null;
  }

  get messages() {
    const textOf = (parts) => parts.filter(({ type }) => type === 'text').map(({ content }) => content).join('');
    return this.#client.getMessages().map(({ role, parts }) => ({ role, text: textOf(parts) }));
  }

  close() {
    this.#client.dispose();
  }
}
