// The agents contract has no published client. This reader is to the letter of the contract: the events that it names,
// the parts that they make, and nothing that it does not name. After a cut it reads the run anew from its beginning.
// `agents-cursor` comes back after the last event instead, and knows which attempt a text belongs to.

import { endpoint, stop } from '../lib/http.mjs';
import { Reader } from './agents/reader.mjs';

export function agents({ name, cursor }) {
  return {
    name,
    family: 'agents',
    dialect: 'agents',
    shows: ['text', 'tools', 'sources'],
    cannot: [],
    async open(where) {
      return new Driver({ fetch: globalThis.fetch, ...where }, cursor);
    },
  };
}

export default agents({ name: 'agents', cursor: false });

class Driver {
  #where;
  #reader = new Reader();
  #messages = [];
  #cursor;
  #error = null;
  #request = null;
  #tools = new Map();

  constructor(where, cursor) {
    this.#where = where;
    this.#cursor = cursor;
    this.#reader.knowsAttempts = cursor;
  }

  registerTool(name, output) {
    this.#tools.set(name, output);
  }

  async send(text) {
    this.#messages = this.messages();
    this.#messages.push({ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] });
    this.#reader.begin();
    await this.#post({ messages: this.#messages });
  }

  /** The contract cannot say a decision; the list `approvals` is an extension of the request. */
  async approve(approved, reason) {
    const asked = this.#reader.asked.get('approval');
    if (!asked) throw new Error('no call waits for approval');
    await this.#post({ approvals: [{ approval: asked.approvalId, approved, ...(reason ? { reason } : {}) }] });
  }

  async answer(answer) {
    const asked = this.#reader.asked.get('interrupt');
    if (!asked) throw new Error('nothing was asked');
    await this.#post({ answers: [{ request: asked.request, token: asked.token, answer }] });
  }

  async stop() {
    await stop(this.#where);
  }

  async resume() {
    const run = this.#where.run();
    if (!run) return this.#ask();
    const headers = {};
    if (this.#cursor && this.#reader.lastEventId) headers['last-event-id'] = this.#reader.lastEventId;
    else this.#reader.begin();
    const url = endpoint(this.#where, 'agents', `/${run}/stream`);
    await this.#read(await this.#where.fetch(url, { headers }).catch((error) => error));
    await this.#execute();
  }

  messages() {
    return [...this.#messages, ...this.#reader.messages];
  }

  error() {
    return this.#error ?? this.#reader.error;
  }

  close() {}

  async #post(body) {
    this.#request = { body: JSON.stringify({ sessionId: this.#where.session, ...body }), key: crypto.randomUUID() };
    await this.#ask();
  }

  async #ask() {
    const response = await this.#where
      .fetch(endpoint(this.#where, 'agents'), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': this.#request.key },
        body: this.#request.body,
      })
      .catch((error) => error);
    await this.#read(response);
    await this.#execute();
  }

  async #execute() {
    if (this.error() !== null) return;
    const parts = this.#reader.messages.flatMap((message) => message.parts);
    const mine = parts.filter((part) => part.state === 'input-available' && this.#tools.has(part.type.slice(5)));
    if (mine.length === 0) return;
    for (const part of mine) Object.assign(part, { state: 'output-available', output: this.#tools.get(part.type.slice(5)) });
    await this.#post({ messages: this.messages() });
  }

  async #read(response) {
    this.#error = null;
    if (response instanceof Error || !response.ok) {
      this.#error = response.message ?? (await response.text());
      return;
    }
    try {
      await this.#reader.read(response.body);
    } catch (error) {
      this.#error = error.message;
    }
  }
}
