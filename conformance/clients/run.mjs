// Runs every scenario with every client against a real server, and prints one line for each case (TAP).
//
//   node run.mjs --binary PATH [--client NAME]… [--scenario TEXT]… [--cuts N] [--kills N] [--seed N]
//                [--front ADDRESS --control ADDRESS [--pauses N]]
//
// `--cuts` is how often each case is repeated with cut connections, `--kills` with a server that is killed. A failing case
// names its seed: the same seed gives the same faults. With `--front` no server is started: that is the balancer of several,
// which `--control` kills, and which it pauses as often as `--pauses` says.

import { parseArgs } from 'node:util';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { clients } from './clients.mjs';

const { values } = parseArgs({
  options: {
    binary: { type: 'string' },
    client: { type: 'string', multiple: true },
    scenario: { type: 'string', multiple: true, default: [''] },
    front: { type: 'string' },
    control: { type: 'string' },
    cuts: { type: 'string', default: '2' },
    kills: { type: 'string', default: '1' },
    pauses: { type: 'string', default: '0' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
if (!values.binary) throw new Error('--binary must name the built headwater');

const totals = { pass: 0, fail: 0, cuts: 0, kills: 0 };
const servers = new Map();
const queue = values.client ?? clients;
console.log(`# seed ${values.seed}`);

// A client may change globals, as MUI's page does, so each has a thread of its own.
async function work() {
  for (let name = queue.shift(); name; name = queue.shift()) await judge(name);
}

function judge(client) {
  return new Promise((resolve) => {
    const { cuts, kills, pauses, ...given } = values;
    const workerData = { ...given, client, cuts: Number(cuts), kills: Number(kills), pauses: Number(pauses) };
    const worker = new Worker(fileURLToPath(new URL('./worker.mjs', import.meta.url)), { workerData });
    worker.on('message', (message) => {
      if (message.pid) servers.set(client, message.pid);
      else if (message.skipped) console.log(`# left out: ${message.skipped}: ${message.reason}`);
      else report(message);
    });
    worker.on('error', (error) => report({ name: client, error: error.stack ?? String(error) }));
    worker.on('exit', () => {
      endServer(client);
      resolve();
    });
  });
}

function report({ name, error, note, cuts = 0, kills = 0 }) {
  totals.cuts += cuts;
  totals.kills += kills;
  totals[error ? 'fail' : 'pass'] += 1;
  console.log(`${error ? 'not ok' : 'ok'} ${totals.pass + totals.fail} - ${name}`);
  if (note) console.log(`# ${note}`);
  if (error) console.log(error.replace(/^/gm, '  | '));
}

function endServer(client) {
  const pid = servers.get(client);
  servers.delete(client);
  if (pid === undefined) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
process.on('exit', () => [...servers.keys()].forEach(endServer));

await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
console.log(`# figure: ${totals.cuts} cuts, ${totals.kills} kills`);
console.log(`1..${totals.pass + totals.fail}\n# pass ${totals.pass}\n# fail ${totals.fail}`);
process.exitCode = totals.fail === 0 ? 0 : 1;
