// Several real servers on one store, to be used in place of one: each request goes to the next of them that is up.

import { Server } from './server.mjs';

/** How long the runs of a killed server wait for another. */
const LEASE = '2s';

export class Cluster {
  #nodes;
  /** Those that are being started again. */
  #down = new Map();
  #next = 0;
  #last = 0;

  constructor(nodes) {
    this.#nodes = nodes;
  }

  /** `begun` gets the id of each process and the number of its node. */
  static async start(binary, { store, nodes = 2, begun = () => {} }) {
    const settings = ['--store', store, '--set', `lease=${LEASE}`];
    const start = (_, node) => Server.start(binary, { settings, begun: (pid) => begun(pid, node) });
    return new Cluster(await Promise.all(Array.from({ length: nodes }, start)));
  }

  /** Resolves with the port of the server whose turn it is. */
  get port() {
    const turns = this.#nodes.map((_, n) => (this.#next + n) % this.#nodes.length);
    this.#last = turns.find((node) => !this.#down.has(node)) ?? turns[0];
    this.#next = this.#last + 1;
    return this.#nodes[this.#last].port;
  }

  /** SIGKILL for the server that was asked last. It is restarted, but not awaited: another one takes over. */
  async restart() {
    const node = this.#last;
    if (this.#down.has(node)) return;
    this.#down.set(node, this.#nodes[node].restart().finally(() => this.#down.delete(node)));
  }

  /** The end of what they printed. */
  get said() {
    return this.#nodes.map((node) => node.said).join('\n');
  }

  async stop() {
    await Promise.allSettled(this.#down.values());
    await Promise.all(this.#nodes.map((node) => node.stop()));
  }
}
