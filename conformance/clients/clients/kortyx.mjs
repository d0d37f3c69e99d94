// Kortyx has no published client. This one follows recordings of its `readStream`, its reducer of structured
// data and its `useChat` exactly. It cannot resume: the page reads the run again.

import { endpoint, stop } from '../lib/http.mjs';
import { applyStructuredChunk } from './kortyx/structured.mjs';
import { agree } from './kortyx/recorded.mjs';
import { readStream } from './kortyx/read-stream.mjs';

export default {
  name: 'kortyx',
  family: 'kortyx',
  dialect: 'kortyx',
  // The content of two responses becomes one message on a replay.
  exact: false,
  shows: ['text', 'structured'],
  cannot: { 'client-tool': 'it has no tools of the page', everything: 'it has no tools of the page' },
  /** It is not published, so it is checked against recordings. */
  recorded: agree,
  async open(where) {
    return new Driver({ fetch: globalThis.fetch, ...where });
  },
};

class Driver {
  #where;
  #messages = [];
  #reply = null;
  #error = null;
  #request = null;

  constructor(where) {
    this.#where = where;
  }

  registerTool() {
    throw new Error('kortyx has no tools of the page');
  }

  async send(text) {
    await this.#say({ id: crypto.randomUUID(), role: 'user', content: text });
  }

  async approve(approved) {
    await this.answer(approved ? 'approve' : 'deny');
  }

  async answer(selected) {
    const asked = this.#pieces().findLast((piece) => piece.type === 'interrupt');
    if (!asked) throw new Error('nothing was asked');
    const { resumeToken: token, requestId } = asked.chunk;
    await this.#say({
      id: crypto.randomUUID(),
      role: 'user',
      content: String(selected),
      metadata: { resume: { token, requestId, selected: [selected] } },
    });
  }

  async stop() {
    await stop(this.#where);
  }

  /** Reads the whole run again; if the server never got the request, repeats it. */
  async resume() {
    const session = encodeURIComponent(this.#where.session);
    const url = endpoint(this.#where, 'kortyx', `/${session}/stream`);
    const response = await this.#where.fetch(url).catch((error) => error);
    const said = this.#messages.findLastIndex((message) => message.role === 'user' && !message.metadata);
    for (const message of this.#messages.slice(said)) if (message.pieces) message.pieces = [];
    if (response.status === 204 || response.status === 404) return this.#ask();
    await this.#read(response);
  }

  messages() {
    return this.#messages;
  }

  error() {
    return this.#error;
  }

  close() {}

  #pieces() {
    return this.#messages.flatMap((message) => message.pieces ?? []);
  }

  async #say(message) {
    this.#messages.push(message);
    const history = this.#messages.filter((message) => message.role === 'user' || message.pieces);
    const { session: sessionId } = this.#where;
    const messages = history.map(({ role, content, metadata, pieces }) => ({
      role,
      content: content ?? textOf(pieces),
      ...(metadata ? { metadata } : {}),
    }));
    const body = JSON.stringify({ sessionId, messages, context: {}, stream: true });
    this.#request = { body, key: crypto.randomUUID() };
    this.#reply = { id: crypto.randomUUID(), role: 'assistant', pieces: [] };
    this.#messages.push(this.#reply);
    await this.#ask();
  }

  async #ask() {
    const response = await this.#where
      .fetch(endpoint(this.#where, 'kortyx'), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': this.#request.key },
        body: this.#request.body,
      })
      .catch((error) => error);
    await this.#read(response);
  }

  async #read(response) {
    this.#error = null;
    if (response instanceof Error || !response.ok) {
      this.#error = response.message ?? (await response.text());
      return;
    }
    try {
      for await (const chunk of readStream(response.body)) {
        this.#apply(chunk);
        if (chunk?.type === 'done') return;
      }
    } catch (error) {
      this.#error = error.message;
    }
  }

  /** The pieces of `useChat`. */
  #apply(chunk) {
    const { pieces } = this.#reply;
    switch (chunk?.type) {
      case 'text-delta': {
        // Messages count only where no text was streamed.
        this.#reply.pieces = pieces.filter((piece) => !piece.whole);
        const key = chunk.segmentId ? `${chunk.opId ?? ''}:${chunk.segmentId}` : `${chunk.opId ?? ''}:${chunk.node ?? ''}`;
        const open = this.#reply.pieces.find((piece) => piece.type === 'text' && piece.key === key);
        if (open) open.text += chunk.delta;
        else this.#reply.pieces.push({ type: 'text', key, text: chunk.delta });
        break;
      }
      case 'message':
        if (!pieces.some((piece) => piece.type === 'text' && !piece.whole)) {
          pieces.push({ type: 'text', whole: true, text: chunk.content });
        }
        break;
      case 'structured-data': {
        const held = pieces.find((piece) => piece.type === 'structured' && piece.state.streamId === chunk.streamId);
        const state = applyStructuredChunk(held?.state, chunk);
        if (held) held.state = state;
        else pieces.push({ type: 'structured', state });
        break;
      }
      case 'structured-data-invalidated':
        this.#reply.pieces = pieces.filter((piece) => piece.state?.streamId !== chunk.streamId);
        break;
      case 'interrupt':
        pieces.push({ type: 'interrupt', chunk });
        break;
      case 'error':
        this.#error = chunk.message;
        break;
    }
  }
}

function textOf(pieces) {
  return pieces.filter((piece) => piece.type === 'text').map((piece) => piece.text).join('');
}
