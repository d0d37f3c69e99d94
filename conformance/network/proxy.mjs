// The network between one page and its server. Of a hundred pieces of an answer that pass, one is the last of its connection: the proxy
// passes a random part of it and closes the socket.
//
// How a server divides what it writes must not matter. So several new words in one piece count as so many pieces, and pieces of a replay
// that follow one another faster than the model speaks count as one.

import { createServer, request } from 'node:http';

/** The number of each word that passed as a whole. */
const WORD = /k\d+t\d+w(\d+) /g;

export class Proxy {
  #port;
  #random;
  #chance;
  #pace;
  #counted = -Infinity;
  #server;
  /** The last new word that the page may have got of this turn. */
  #passed = -1;
  /** Called for each cut with the last word that had passed before it. */
  onCut = () => {};

  /** `port` gives the port of the server: one that was started again has another. */
  static async start({ port, random, chance, pace }) {
    const proxy = new Proxy();
    proxy.#port = port;
    proxy.#random = random;
    proxy.#chance = chance;
    proxy.#pace = pace;
    proxy.#server = createServer((incoming, outgoing) => void proxy.#forward(incoming, outgoing));
    await new Promise((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get base() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  nextTurn() {
    this.#passed = -1;
  }

  async #forward(incoming, outgoing) {
    const pieces = [];
    for await (const piece of incoming) pieces.push(piece);
    const port = await this.#port();
    const headers = { ...endToEnd(incoming.headers), host: `127.0.0.1:${port}` };
    const asked = request({ port, host: '127.0.0.1', agent: false, path: incoming.url, method: incoming.method, headers });
    const lost = () => {
      if (!outgoing.destroyed) this.onCut(this.#passed);
      outgoing.destroy();
    };
    outgoing.on('close', () => asked.destroy());
    asked.on('error', lost);
    asked.on('response', (response) => {
      outgoing.socket?.setNoDelay(true);
      outgoing.writeHead(response.statusCode, endToEnd(response.headers));
      outgoing.flushHeaders();
      const isStream = /event-stream/.test(response.headers['content-type'] ?? '');
      let isCut = false;
      response.on('data', (piece) => {
        if (isCut) return;
        const before = this.#passed;
        if (!isStream || !this.#cuts(piece)) return void outgoing.write(piece);
        const part = piece.subarray(0, Math.floor(this.#random.next() * piece.length));
        this.#passed = Math.max(before, ...numbers(part));
        isCut = true;
        // What was written has to leave before the socket is closed.
        outgoing.write(part, lost);
      });
      response.on('end', () => void (isCut || outgoing.end()));
      response.on('error', lost);
    });
    asked.end(Buffer.concat(pieces));
  }

  /** Whether this piece is the last one of its connection. */
  #cuts(piece) {
    const fresh = numbers(piece).filter((number) => number > this.#passed);
    this.#passed = Math.max(this.#passed, ...fresh);
    const now = performance.now();
    if (fresh.length === 0 && now - this.#counted < this.#pace) return false;
    this.#counted = now;
    return this.#random.next() >= (1 - this.#chance) ** Math.max(1, fresh.length);
  }

  async close() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The headers that are not about one connection. With `connection: close` Node's fetch would take a cut for an end. */
function endToEnd(all) {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !['connection', 'keep-alive', 'transfer-encoding'].includes(name)));
}

/** The words in these bytes. Escaped or not, a word ends with a blank. */
function numbers(bytes) {
  return [...bytes.toString('latin1').matchAll(WORD)].map(([, number]) => Number(number));
}
