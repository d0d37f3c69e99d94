// A proxy between a client and the server that does what networks do: it cuts a stream at some byte, stalls, and
// hands out bytes one by one. One proxy serves one case.

import { createServer, request } from 'node:http';

/** What happens to one stream: `cut` after so many bytes of the body (-1: before the headers), or nothing. */
const WHOLE = { cut: Infinity, stallAt: -1, pieces: false, kill: false };

export class Proxy {
  #port;
  #server;
  #fault = () => WHOLE;
  #onKill = async () => {};
  /** How many streams were cut. */
  cuts = 0;
  /** The bytes of each stream, in the order in which they began. */
  sizes = [];
  /** The runs that answered, in the order in which they were first seen. */
  runs = [];
  /** The requests so far, to detect repeated ones. */
  requests = [];

  /** `port` gives the server's port; a restarted server has another one. */
  constructor(port) {
    this.#port = port;
  }

  static async start(port) {
    const proxy = new Proxy(port);
    proxy.#server = createServer((incoming, outgoing) => {
      proxy.#forward(incoming, outgoing).catch(() => outgoing.destroy());
    });
    await new Promise((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get base() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /**
   * `fault(n)` says what happens to the n-th stream; `kill` is called where that is a kill of the server, with the local
   * port of the connection to it.
   */
  disturb(fault, kill = async () => {}) {
    this.#fault = (n) => ({ ...WHOLE, ...fault(n) });
    this.#onKill = kill;
  }

  calm() {
    this.#fault = () => WHOLE;
  }

  async #forward(incoming, outgoing) {
    const body = await collect(incoming);
    this.requests.push({ method: incoming.method, url: incoming.url, headers: incoming.headers, body: body.toString() });
    const { response, connection, close } = await this.#ask(incoming, body);
    outgoing.on('close', close);
    const run = response.headers['x-run-id'];
    if (run && !this.runs.includes(run)) this.runs.push(run);
    if (!/event-stream|ndjson/.test(response.headers['content-type'] ?? '')) {
      outgoing.writeHead(response.statusCode, response.headers);
      response.on('error', () => outgoing.destroy());
      response.pipe(outgoing);
      return;
    }
    const n = this.sizes.push(0) - 1;
    await this.#stream(response, outgoing, n, { ...this.#fault(n), connection });
  }

  async #ask(incoming, body) {
    const port = await this.#port();
    const headers = { ...incoming.headers, host: `127.0.0.1:${port}` };
    return new Promise((resolve, reject) => {
      const asked = request({ port, host: '127.0.0.1', agent: false, path: incoming.url, method: incoming.method, headers });
      asked.on('response', (response) => {
        resolve({ response, connection: response.socket.localPort, close: () => asked.destroy() });
      });
      asked.on('error', reject);
      asked.end(body);
    });
  }

  async #stream(response, outgoing, n, fault) {
    const cut = async () => {
      this.cuts += 1;
      if (fault.kill) await this.#onKill({ connection: fault.connection });
      outgoing.destroy();
      response.destroy();
    };
    if (fault.cut < 0) return cut();
    outgoing.socket?.setNoDelay(true);
    outgoing.writeHead(response.statusCode, response.headers);
    outgoing.flushHeaders();
    try {
      for await (const bytes of response) {
        const left = fault.cut - this.sizes[n];
        const part = bytes.subarray(0, Math.max(0, Math.min(bytes.length, left)));
        await this.#write(outgoing, part, n, fault);
        if (part.length < bytes.length || left <= bytes.length) return cut();
        if (outgoing.destroyed) return;
      }
      outgoing.end();
    } catch {
      // The server is gone: so is the connection.
      if (!outgoing.destroyed) {
        this.cuts += 1;
        outgoing.destroy();
      }
    }
  }

  async #write(outgoing, bytes, n, fault) {
    const from = this.sizes[n];
    this.sizes[n] += bytes.length;
    if (fault.stallAt >= from && fault.stallAt < from + bytes.length) {
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    const size = fault.pieces ? 1 : bytes.length;
    for (let at = 0; at < bytes.length; at += size) await written(outgoing, bytes.subarray(at, at + size));
  }

  async close() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** What is written must have left before the connection dies, or it would die with it. */
function written(outgoing, bytes) {
  return new Promise((resolve) => (outgoing.destroyed ? resolve() : outgoing.write(bytes, resolve)));
}

async function collect(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}
