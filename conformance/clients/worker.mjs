// One client against a server of its own: every scenario, and each of them disturbed.

import { parentPort, workerData } from 'node:worker_threads';
import { Case } from './lib/case.mjs';
import { Cluster } from './lib/cluster.mjs';
import { Random } from './lib/random.mjs';
import { Server } from './lib/server.mjs';
import { scenarios } from './scenarios.mjs';

const { client: name, binary, front, control, scenario: filters, seed, cuts, kills, pauses } = workerData;
const { default: client } = await import(`./clients/${name}.mjs`);

// Clients log cut connections to the console, and some leave unhandled rejections.
for (const word of ['log', 'info', 'debug', 'warn', 'error']) console[word] = () => {};
process.on('unhandledRejection', () => {});

const tell = (message) => parentPort.postMessage(message);
const begun = (pid) => tell({ pid });
const server = front ? await Cluster.open({ front, control }) : await Server.start(binary, { begun });

const recordings = process.env.HEADWATER_VECTORS;
if (client.recorded && recordings && filters.includes('')) {
  await attempt(`${name}: the reader agrees with the recording`, () => client.recorded(recordings));
}
const wanted = ({ name: title }) => filters.some((filter) => `${name}: ${title}`.includes(filter));
for (const scenario of scenarios.filter(wanted)) {
  if (scenario.needs in client.cannot) {
    tell({ skipped: `${name}: ${scenario.name}`, reason: client.cannot[scenario.needs] });
    continue;
  }
  const title = `${name}: ${scenario.name}`;
  const one = new Case({ client, scenario, server, binary });
  if (!(await attempt(title, () => one.undisturbed()))) continue;
  await attempt(`${title}, from the journal`, () => one.journal());
  await attempt(`${title}, the same request again`, () => one.repeated());
  if (cuts > 0) await attempt(`${title}, ${cuts} times with cuts`, () => repeat(one, cuts, 'cuts'));
  if (kills > 0) await attempt(`${title}, ${kills} times with kills`, () => repeat(one, kills, 'kills'));
  for (let n = 1; n <= pauses; n += 1) {
    const pause = (place) => server.pause(place);
    await attempt(`${title}, on a node that stands still, ${n}`, () => one.paused({ pause, resume: () => server.resume() }));
  }
}

await server.stop();
// Some clients leave timers behind.
process.exit(0);

async function repeat(one, times, kind) {
  const done = { cuts: 0, kills: 0 };
  for (let n = 1; n <= times; n += 1) {
    const words = [seed, name, one.scenario.name, kind, n];
    const kill = async (place) => {
      done.kills += 1;
      await server.restart(place);
    };
    const seen = await one.disturbed(new Random(...words), kind === 'kills' ? { kill } : {}).catch((error) => {
      error.message = `seed ${seed}, time ${n}: ${error.message}`;
      throw error;
    });
    done.cuts += seen.cuts;
  }
  return done;
}

async function attempt(title, action) {
  try {
    const done = await action();
    tell({ name: title, note: done?.note, cuts: done?.kills !== undefined ? done.cuts : 0, kills: done?.kills ?? 0 });
    return true;
  } catch (error) {
    const last = server.said.trim().split('\n').slice(-8).join('\n');
    tell({ name: title, error: `${error.message}${error.cause ? `\ncause: ${error.cause.message ?? error.cause}` : ''}\nserver: ${last}` });
    return false;
  }
}
