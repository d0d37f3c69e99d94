// Several real servers behind a balancer, to be used in place of one. Another program has started them, and does to them
// what it is asked for over a connection: `crates/headwater-cli/tests/cluster/vendors.rs`.

import { once } from 'node:events';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';

export class Cluster {
  #front;
  #control;
  #answers;
  /** The process that started the servers has their output. */
  said = '';

  constructor(front, control) {
    this.#front = front;
    this.#control = control;
    this.#answers = createInterface({ input: control })[Symbol.asyncIterator]();
  }

  /** `front` is the address of the balancer, and `control` that of the program, as `HOST:PORT`. */
  static async open({ front, control }) {
    const { hostname, port } = new URL(`tcp://${control}`);
    const connection = createConnection({ host: hostname, port: Number(port) });
    await once(connection, 'connect');
    return new Cluster(front, connection);
  }

  get port() {
    return Promise.resolve(Number(new URL(`tcp://${this.#front}`).port));
  }

  /** SIGKILL for the server behind a connection, named by its local port. It is started again, and not awaited. */
  async restart({ connection }) {
    await this.#order(`kill ${connection}`);
  }

  /** SIGSTOP for the server behind a connection. */
  async pause({ connection }) {
    await this.#order(`pause ${connection}`);
  }

  /** SIGCONT. Resolves when the server has had the time to write something that it may not. */
  async resume() {
    await this.#order('resume');
  }

  async #order(words) {
    this.#control.write(`${words}\n`);
    const { value } = await this.#answers.next();
    if (value !== 'done') throw new Error(`nothing obeys \`${words}\``);
  }

  async stop() {
    this.#control.end();
  }
}
