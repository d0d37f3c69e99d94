// TanStack's `ChatClient` 0.2.2, the last one of the eight chunks. It has no ids and no way back: the page gives each
// turn an `Idempotency-Key` and, after a cut, reloads, which repeats the POST. A decision about a call is not in its
// requests, so the page sends that beside them.

import { randomUUID } from 'node:crypto';
import { load } from '../../vendors/load.mjs';
import { endpoint, post, stop } from '../lib/http.mjs';

export function tanstack02({ name, connection }) {
  return {
    name,
    family: 'tanstack',
    dialect: 'tanstack',
    // The content of two responses becomes one message on a replay.
    exact: false,
    framing: connection === 'fetchHttpStream' ? 'ndjson' : 'sse',
    shows: ['text', 'reasoning', 'tools', 'structured'],
    cannot: {},
    async open(where) {
      return new Driver(await load('@tanstack/ai-client'), connection, { fetch: globalThis.fetch, ...where });
    },
  };
}

export default tanstack02({ name: 'tanstack-0.2', connection: 'fetchServerSentEvents' });

class Driver {
  #client;
  #where;
  #turn = null;
  #named = false;
  #tools = [];

  constructor(package_, connection, where) {
    this.#where = where;
    const options = () => ({
      fetchClient: where.fetch,
      headers: {
        ...this.#name(),
        ...(connection === 'fetchHttpStream' ? { accept: 'application/x-ndjson' } : {}),
      },
    });
    this.#client = new package_.ChatClient({
      id: where.session,
      connection: package_[connection](() => this.#url(), options),
      onError: () => {},
    });
  }

  registerTool(name, output) {
    this.#tools.push({ name, execute: async () => output });
    this.#client.updateOptions({ tools: this.#tools });
  }

  async send(text) {
    this.#turn = randomUUID();
    this.#named = true;
    await this.#client.sendMessage(text);
  }

  async approve(approved, reason) {
    const part = this.#parts().find((part) => part.state === 'approval-requested');
    if (!part) throw new Error('no call waits for approval');
    const { id } = part.approval;
    await post({ ...this.#where, base: '' }, this.#url(), { conversationId: this.#where.session, approvalId: id, approved, reason });
    await this.#client.addToolApprovalResponse({ id, approved });
  }

  /** A question is a call of the tool `ask_user`, and the answer is its output. */
  async answer(answer) {
    const call = this.#parts().findLast((part) => part.type === 'tool-call' && part.name === 'ask_user');
    if (!call) throw new Error('nothing was asked');
    await this.#client.addToolResult({ toolCallId: call.id, tool: call.name, output: answer });
  }

  async stop() {
    await stop(this.#where);
  }

  async resume() {
    // It may have carried on by itself: the results of its tools are sent after a cut, too.
    if (this.error() === null) return;
    this.#named = true;
    await this.#client.reload();
  }

  messages() {
    return this.#client.getMessages();
  }

  error() {
    return this.#client.getError()?.message ?? null;
  }

  close() {}

  #url() {
    return endpoint(this.#where, 'tanstack');
  }

  #parts() {
    return this.messages().flatMap((message) => message.parts);
  }

  /** Only the first request of a turn is named: those that carry on a turn are requests of their own. */
  #name() {
    const named = this.#named;
    this.#named = false;
    return named ? { 'idempotency-key': this.#turn } : {};
  }
}
