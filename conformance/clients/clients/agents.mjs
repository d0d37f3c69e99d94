// The agents contract has no published client; this is the reference reader of docs/dialects.md. After a cut
// it reads the run again from its beginning. `agents-cursor` continues after the last event instead.

import { endpoint, stop } from '../lib/http.mjs';
import { Reader } from './agents/reader.mjs';

export function agents({ name, cursor }) {
  return {
    name,
    family: 'agents',
    dialect: 'agents',
    shows: ['text', 'reasoning', 'tools', 'sources', 'files', 'data'],
    cannot: {},
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

  async approve(approved, reason) {
    const part = this.#open('approval-requested');
    Object.assign(part, { state: 'approval-responded', approval: { ...part.approval, approved, ...(reason ? { reason } : {}) } });
    await this.#post({ messages: this.messages() });
  }

  /** A question is a call of the tool `ask_user`; its output is the answer. */
  async answer(answer) {
    Object.assign(this.#open('input-available', 'tool-ask_user'), { state: 'output-available', output: answer });
    await this.#post({ messages: this.messages() });
  }

  async stop() {
    await stop(this.#where);
  }

  async resume() {
    const run = this.#where.run();
    if (!run) return this.#ask();
    // After `done` and after a failure nothing more comes, however the connection ended.
    if (this.#error === null && this.#reader.status !== 'streaming') return this.#execute();
    const headers = {};
    if (this.#cursor && this.#reader.lastEventId) headers['last-event-id'] = this.#reader.lastEventId;
    else this.#reader.begin();
    await this.#again(headers);
    await this.#execute();
  }

  async #again(headers = {}) {
    const url = endpoint(this.#where, 'agents', `/${this.#where.run()}/stream`);
    const anew = !headers['last-event-id'];
    await this.#read(await this.#where.fetch(url, { headers }).catch((error) => error), { anew });
  }

  messages() {
    return [...this.#messages, ...this.#reader.messages];
  }

  error() {
    return this.#error ?? this.#reader.error;
  }

  close() {}

  #open(state, type) {
    const parts = this.#reader.messages.flatMap((message) => message.parts);
    const part = parts.find((part) => part.state === state && (!type || part.type === type));
    if (!part) throw new Error(`no part in the state ${state}`);
    return part;
  }

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

  async #read(response, { anew = false } = {}) {
    this.#error = null;
    if (response instanceof Error || !response.ok) {
      this.#error = response.message ?? (await response.text());
      return;
    }
    try {
      await this.#reader.read(response.body, { stopWhenStale: this.#cursor && !anew });
    } catch (error) {
      this.#error = error.message;
    }
    // A dead attempt cannot be removed by what follows; the run without a cursor has only what counts.
    if (this.#cursor && !anew && this.#reader.stale) {
      this.#reader.begin();
      await this.#again();
    }
  }
}
