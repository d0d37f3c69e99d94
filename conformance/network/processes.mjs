// The processes of a series: the model, one server, and Redis where the server wants it. All of them end with this one.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Server } from '../clients/lib/server.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** How many ticks of /proc a second has, on every Linux that has Node. */
const TICKS = 100;

const children = new Set();
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

/** A Node program that prints `listening PORT`. */
class Program {
  #child;

  static async start(args) {
    const program = new Program();
    const child = spawn(process.execPath, args, { cwd: HERE, stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, NODE_ENV: 'production' } });
    program.#child = child;
    children.add(child);
    let said = '';
    child.stderr.on('data', (text) => (said = (said + text).slice(-4000)));
    program.port = await new Promise((resolve, reject) => {
      let printed = '';
      child.stdout.on('data', (text) => {
        printed += text;
        const port = printed.match(/listening (\d+)/)?.[1];
        if (port) resolve(Number(port));
      });
      child.on('exit', (code) => reject(new Error(`node ${args[0]} ended with ${code}: ${said}`)));
    });
    return program;
  }

  get pid() {
    return this.#child.pid;
  }

  async kill() {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await gone;
    children.delete(this.#child);
  }
}

/** The scripted model in a process of its own. */
export async function startModel({ words, pace }) {
  const program = await Program.start(['model.mjs', String(words), String(pace)]);
  const base = `http://127.0.0.1:${program.port}`;
  return {
    url: `${base}/v1`,
    /** How many words it said, by question. */
    count: async () => (await fetch(`${base}/count`)).json(),
    stop: () => program.kill(),
  };
}

async function startRedis(folder) {
  const probe = createServer();
  const port = await new Promise((resolve) => probe.listen(0, '127.0.0.1', () => resolve(probe.address().port)));
  await new Promise((resolve) => probe.close(resolve));
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  children.add(child);
  await new Promise((resolve, reject) => {
    child.stdout.on('data', (text) => String(text).includes('Ready to accept') && resolve());
    child.on('error', () => reject(new Error('redis-server is not on the PATH: install it (Debian: redis-server)')));
    child.on('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
  });
  return { url: `redis://127.0.0.1:${port}`, pid: child.pid, kill: () => child.kill('SIGKILL') };
}

/** A server that can be killed and started again. Its `port` is undefined while it is not there. */
class Running {
  port;

  /** CPU seconds of its processes. */
  cpu() {
    const ticks = this.pids().map((pid) => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
      return Number(fields[11]) + Number(fields[12]);
    });
    return ticks.reduce((sum, one) => sum + one, 0) / TICKS;
  }

  /** Bytes of memory of its processes. */
  memory() {
    const sizes = this.pids().map((pid) => Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]));
    return sizes.reduce((sum, one) => sum + one, 0) * 1024;
  }
}

class VendorServer extends Running {
  #args;
  #program;
  #redis;
  #folder;

  static async start({ file, variant, model }) {
    const server = new VendorServer();
    server.#folder = await mkdtemp(join(tmpdir(), 'headwater-network-'));
    if (file === 'ai-sdk' && variant === 'resumable') server.#redis = await startRedis(server.#folder);
    server.#args = ['serve.mjs', file, variant, model, server.#folder, ...(server.#redis ? [server.#redis.url] : [])];
    await server.#begin();
    return server;
  }

  async #begin() {
    this.#program = await Program.start(this.#args);
    this.port = this.#program.port;
  }

  pids() {
    return [this.#program.pid, ...(this.#redis ? [this.#redis.pid] : [])];
  }

  async restart() {
    this.port = undefined;
    await this.#program.kill();
    await this.#begin();
  }

  async stop() {
    await this.#program.kill();
    this.#redis?.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

class HeadwaterServer extends Running {
  #server;
  #pid;
  #folder;

  static async start({ binary, model }) {
    const server = new HeadwaterServer();
    server.#folder = await mkdtemp(join(tmpdir(), 'headwater-network-'));
    const agent = join(server.#folder, 'network.yaml');
    await writeFile(
      agent,
      `name: network
models:
  writer: { provider: openai-compatible, called: script, model: script, base_url: "${model}" }
workflows:
  answer: { start: answer, nodes: { answer: { reason: { model: writer } } } }
`,
    );
    const begun = (pid) => (server.#pid = pid);
    server.#server = await Server.start(binary, { agents: [agent], begun });
    server.port = await server.#server.port;
    return server;
  }

  pids() {
    return [this.#pid];
  }

  async restart() {
    this.port = undefined;
    await this.#server.restart();
    this.port = await this.#server.port;
  }

  async stop() {
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export const startServer = (options) => (options.file === 'headwater' ? HeadwaterServer : VendorServer).start(options);
