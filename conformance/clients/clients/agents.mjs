// The agents contract has no published client. This reader is to the letter of the contract: the events that it names,
// the parts that they make, and nothing that it does not name. After a cut it reads the run anew from its beginning.
// `agents-cursor` comes back after the last event instead, and knows which attempt a text belongs to.

import { endpoint, post, runOf } from '../lib/http.mjs';
import { Reader } from './agents/reader.mjs';

export function agents({ name, cursor }) {
  return {
    name,
    family: 'agents',
    dialect: 'agents',
    shows: ['text', 'tools', 'sources'],
    cannot: [],
    async open({ base, agent, session, fetch = globalThis.fetch }) {
      return new Driver({ base, agent, session, fetch }, cursor);
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
    await this.#carryOn({ approvals: [{ approval: asked.approvalId, approved, ...(reason ? { reason } : {}) }] });
  }

  async answer(answer) {
    const asked = this.#reader.asked.get('interrupt');
    if (!asked) throw new Error('nothing was asked');
    await this.#carryOn({ answers: [{ request: asked.requestId, token: asked.token, answer }] });
  }

  async stop() {
    await post(this.#where, `/v1/runs/${await runOf(this.#where)}/stop`, {});
  }

  async resume() {
    const run = this.#reader.run ?? (await runOf(this.#where));
    if (!run) return this.#ask();
    const headers = {};
    if (this.#cursor && this.#reader.lastEventId) headers['last-event-id'] = this.#reader.lastEventId;
    else this.#reader.begin();
    const url = `${this.#where.base}/v1/runs/${run}/events?dialect=agents`;
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

  /** What was asked is answered; the run goes on, and its stream is followed from where this reader was. */
  async #carryOn(body) {
    const run = this.#reader.run;
    await post(this.#where, `/v1/runs/${run}/answer`, body);
    await this.resume();
  }

  async #post(body) {
    this.#request = { body: JSON.stringify({ sessionId: this.#where.session, ...body }), key: crypto.randomUUID() };
    await this.#ask();
  }

  async #ask() {
    const response = await this.#where
      .fetch(endpoint(this.#where, 'agents'), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-request-id': this.#request.key },
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
    const outputs = mine.map((part) => ({ call: part.toolCallId, output: this.#tools.get(part.type.slice(5)) }));
    await this.#carryOn({ toolResults: outputs });
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
