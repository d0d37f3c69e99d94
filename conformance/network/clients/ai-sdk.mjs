// `ai` 7 as `useChat` has it: `AbstractChat` with `DefaultChatTransport`.

import { AbstractChat, DefaultChatTransport } from 'ai';
import { chatState } from '../../vendors/chat-state.mjs';

class Chat extends AbstractChat {}

/** The errors of a connection that was cut or refused. */
const NETWORK = /terminated|fetch failed/;

export class Page {
  #where;
  #state;
  #chat;

  /** `history` is the address of the conversation's messages, where the server keeps them. */
  constructor(where) {
    this.#where = where;
    this.#open([]);
  }

  #open(messages) {
    const { id, api } = this.#where;
    this.#state = chatState();
    this.#state.messages = messages;
    this.#chat = new Chat({ id, state: this.#state, transport: new DefaultChatTransport({ api }), onError: () => {} });
  }

  async send(text) {
    await this.#chat.sendMessage({ text });
  }

  /**
   * A server that keeps conversations: the page is loaded again with `resume`. Otherwise, or if that brought no answer, or where the server
   * itself answered with an error: Retry.
   */
  async recover() {
    const { history } = this.#where;
    if (history && NETWORK.test(this.error)) {
      const response = await fetch(history).catch(() => null);
      if (!response?.ok && response?.status !== 404) return;
      const messages = response.ok ? (await response.json()).messages : [];
      const begun = messages.filter(({ role }) => role === 'user').length;
      // A question that the server never got is still in the box.
      const asked = this.#state.messages.filter(({ role }) => role === 'user');
      this.#open(begun < asked.length ? [...messages, ...asked.slice(begun)] : messages);
      await this.#chat.resumeStream();
      if (this.error || this.#state.messages.at(-1)?.role === 'assistant') return;
    }
    await this.#chat.regenerate();
  }

  get error() {
    return this.#state.status === 'error' ? this.#state.error.message : null;
  }

  get messages() {
    return this.#state.messages.map(({ role, parts }) => ({ role, text: parts.map(({ text }) => text ?? '').join('') }));
  }

  close() {}
}
