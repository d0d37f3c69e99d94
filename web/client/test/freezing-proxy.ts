// A network before a server whose open streams fall silent without an end, as they do when a computer sleeps or a router forgets them.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export class FreezingProxy {
  /** The connections whose newest request was for a stream, with what passes their bytes on. */
  #streams = new Map<Socket, Socket>();
  #sockets = new Set<Socket>();
  #server = createServer((page) => this.#accept(page));
  #port = 0;
  url = '';

  /** Listens before a server: `http://127.0.0.1:8787`. */
  async start(target: string): Promise<this> {
    this.#port = Number(new URL(target).port);
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
    return this;
  }

  /** The streams that are open get nothing more; new connections work. */
  freeze(): void {
    for (const [page, upstream] of this.#streams) {
      upstream.unpipe(page);
      upstream.resume();
    }
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(page: Socket): void {
    const upstream = connect(this.#port, '127.0.0.1');
    for (const socket of [page, upstream]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        page.destroy();
        upstream.destroy();
      });
    }
    page.on('data', (bytes) => {
      const [request = ''] = bytes.toString('latin1').split('\r\n');
      if (/ HTTP\/1\.1$/.test(request)) this.#streams.delete(page);
      if (/\/events\?/.test(request)) this.#streams.set(page, upstream);
    });
    page.pipe(upstream);
    upstream.pipe(page);
  }
}
