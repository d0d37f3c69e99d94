// The real `headwater serve` on a folder and a port of its own, to be killed and started again.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.mjs';

export class Server {
  #binary;
  #folder;
  #options;
  #listen = '127.0.0.1:0';
  #child = null;
  #said = '';
  /** Resolves with the port once the server answers; a new one after each kill, unless the server keeps its port. */
  port;
  kills = 0;

  constructor(binary, folder, options) {
    this.#binary = binary;
    this.#folder = folder;
    this.#options = options;
  }

  /**
   * `begun` gets the id of each process. A server that `keepsPort` has the same address after a kill; one
   * behind a proxy need not be. The `pace` is slow enough that a cut meets an active run, and fast enough for
   * hundreds of them. `agents` are files of agents to serve in place of the demo's; `settings` are further arguments;
   * `command` is `serve` or `proxy`, run in the folder `cwd`.
   */
  static async start(binary, { begun = () => {}, keepsPort = false, pace = '2ms', agents = [], settings = [], command = 'serve', cwd } = {}) {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-judges-'));
    const server = new Server(binary, folder, { begun, keepsPort, pace, agents, settings, command, cwd });
    try {
      await server.#spawn();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  #spawn() {
    this.#said = '';
    const { agents, pace, settings, command, cwd } = this.#options;
    const what = [...(agents.length > 0 ? agents : ['--set', `demo.pace=${pace}`]), ...settings];
    const child = spawn(this.#binary, [command, '--listen', this.#listen, '--data', this.#folder, ...what], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1' },
    });
    this.#child = child;
    this.#options.begun(child.pid);
    let greeting = '';
    const listen = (text) => {
      // What a killed server had printed may still arrive.
      if (this.#child === child) this.#said = (this.#said + text).slice(-16_384);
    };
    child.stdout.on('data', (text) => {
      greeting += text;
      listen(text);
    });
    child.stderr.on('data', listen);
    this.port = this.#ready(child, () => greeting.match(/http:\/\/127\.0\.0\.1:(\d+)\s/)?.[1]);
    return this.port;
  }

  async #ready(child, printedPort) {
    const port = await until(
      () => `the port of headwater serve; it said:\n${this.#said}`,
      () => {
        if (child.exitCode !== null) throw new Error(`headwater serve ended with ${child.exitCode}:\n${this.#said}`);
        return printedPort();
      },
    );
    await until('an answer', async () =>
      fetch(`http://127.0.0.1:${port}/v1/runs`, { signal: AbortSignal.timeout(2_000) }).then(
        // One that asks for a key answers too.
        (response) => response.ok || response.status === 401,
        () => false,
      ),
    );
    if (this.#options.keepsPort) this.#listen = `127.0.0.1:${port}`;
    return Number(port);
  }

  /** SIGKILL, and `after` milliseconds later a new process on the same folder. `port` then resolves to the new one. */
  async restart({ after = 0 } = {}) {
    this.kills += 1;
    const dead = this.#end('SIGKILL').then(() => new Promise((resolve) => setTimeout(resolve, after)));
    this.port = dead.then(() => this.#spawn());
    await this.port;
  }

  #end(signal) {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    return gone;
  }

  /** The end of its output, to explain a failure. */
  get said() {
    return this.#said;
  }

  async stop() {
    await this.#end('SIGKILL');
    await rm(this.#folder, { recursive: true, force: true });
  }
}
