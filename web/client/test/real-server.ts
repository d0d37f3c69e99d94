// The real `headwater serve` on a folder of its own, to be killed and started again.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The binary of the server; tests that need it are skipped without one, and fail on CI. */
export const binary = process.env['HEADWATER_BINARY'];

export class RealServer {
  #child: ChildProcess | undefined;
  #listen = '127.0.0.1:0';
  #folder = '';
  url = '';

  /** `pace` is the time between two words of the demo agents. */
  constructor(private readonly pace = '5ms') {}

  async start(): Promise<this> {
    this.#folder ||= await mkdtemp(join(tmpdir(), 'headwater-web-'));
    const child = spawn(binary as string, ['serve', '--listen', this.#listen, '--data', this.#folder, '--set', `demo.pace=${this.pace}`], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, NO_COLOR: '1' },
    });
    this.#child = child;
    let said = '';
    for await (const text of child.stdout) {
      said += text;
      const port = /http:\/\/127\.0\.0\.1:(\d+)\s/.exec(said)?.[1];
      if (!port) continue;
      // After a kill it is found at the same place.
      this.#listen = `127.0.0.1:${port}`;
      this.url = `http://${this.#listen}`;
      child.stdout.resume();
      return this;
    }
    throw new Error(`headwater serve ended:\n${said}`);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
