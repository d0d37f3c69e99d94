// A real server with the agents that are measured.

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Starts `headwater serve` in a folder of its own. JSON is YAML, so agents are given as objects. */
export async function serve(binary, agents) {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-bench-'));
  const files = await Promise.all(
    agents.map(async (agent) => {
      const file = join(folder, `${agent.name}.yaml`);
      await writeFile(file, JSON.stringify(agent));
      return file;
    }),
  );
  const child = spawn(binary, ['serve', ...files, '--listen', '127.0.0.1:0', '--data', join(folder, 'data')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  let printed = '';
  for await (const piece of child.stdout) {
    printed += piece;
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0];
    if (!url) continue;
    child.stdout.resume();
    return {
      url,
      async stop() {
        child.kill('SIGKILL');
        await rm(folder, { recursive: true, force: true });
      },
    };
  }
  throw new Error(`headwater serve ended:\n${printed}`);
}

const post = (url, body) => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/** Begins a run. */
export async function begin(url, agent, session = crypto.randomUUID()) {
  const response = await post(`${url}/v1/runs`, { input: 'go', agent, session });
  return { session, run: (await response.json()).run };
}

/** The whole stream of a run in a dialect, as bytes on the wire: each delta a frame, as it was served live. */
export async function record(url, run, dialect, profile) {
  const query = new URLSearchParams({ until: 'end', ...(dialect === 'native' ? {} : { dialect }), ...(profile ? { profile } : {}) });
  const response = await fetch(`${url}/v1/runs/${run}/events?${query}`);
  if (!response.ok) throw new Error(`cannot record ${dialect}: ${await response.text()}`);
  return response.text();
}
