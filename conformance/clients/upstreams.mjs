// A vendor's server behind `headwater proxy`, and another vendor's client in front of it: undisturbed, with a connection
// that is cut, and with an upstream that is cut. One line for each case (TAP).
//
//   node upstreams.mjs --binary PATH --servers URL
//
// The servers are those of `../servers`, which print their port.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { flatten } from './lib/flat.mjs';
import { plain } from './lib/normal.mjs';
import { Proxy } from './lib/proxy.mjs';
import { Server } from './lib/server.mjs';
import { within } from './lib/until.mjs';

const { values } = parseArgs({ options: { binary: { type: 'string' }, servers: { type: 'string' } } });
if (!values.binary || !values.servers) throw new Error('--binary and --servers must be given');

/** The server behind, its dialect, and the client in front. */
const pairs = [
  { path: 'ai-sdk', from: 'ai-sdk', client: 'tanstack' },
  { path: 'ag-ui', from: 'ag-ui', client: 'ai-7' },
  { path: 'tanstack', from: 'ag-ui', client: 'ag-ui' },
  { path: 'ai-sdk', from: 'ai-sdk', client: 'agents' },
  { path: 'copilotkit/agent/script/run', from: 'ag-ui', client: 'agents-cursor' },
];

const long = Array.from({ length: 200 }, (_, index) => `word${index} `).join('');

/** How often a client may reconnect before it counts as lost. */
const COMINGS_BACK = 20;

// A client may reject a promise that only it has, when its connection is cut.
process.on('unhandledRejection', () => {});
process.on('uncaughtException', () => {});

let count = 0;
let failed = 0;

async function test(name, work) {
  count += 1;
  try {
    await work();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${count} - ${name}\n${String(error.stack ?? error).replace(/^/gm, '  | ')}`);
  }
}

/** A conversation of a client with a proxy, over a network that `fault` disturbs. */
async function converse(client, server, fault, work) {
  const network = await Proxy.start(() => server.port);
  if (fault) network.disturb(fault);
  const where = { base: network.base, agent: 'proxy', session: randomUUID(), run: () => network.runs.at(-1) };
  const chat = await client.open(where);
  const act = async (action, ...given) => {
    let { cuts } = network;
    await within(`${action} to end`, chat[action](...given));
    for (let times = 0; network.cuts > cuts; times += 1) {
      if (times > COMINGS_BACK) throw new Error('the client never came to the end');
      ({ cuts } = network);
      await within('the client to reconnect', chat.resume());
    }
  };
  const text = () => flatten(client.family, plain(chat.messages())).text.join('');
  try {
    await work({ chat, act, text, network });
  } finally {
    chat.close();
    await network.close();
  }
}

function start(path, from, ...more) {
  const settings = ['--upstream', `${values.servers}/${path}`, '--from', from, ...more];
  return Server.start(values.binary, { command: 'proxy', settings });
}

async function judge({ path, from, client: file }) {
  const client = (await import(`./clients/${file}.mjs`)).default;
  const name = `${path.split('/')[0]} behind, ${file} in front`;
  const server = await start(path, from);
  try {
    await test(`${name}: text`, () =>
      converse(client, server, null, async ({ chat, act, text }) => {
        for (const said of ['hello', 'once more']) {
          await act('send', said);
          assert.equal(text(), `You said: ${said}`);
          assert.equal(chat.error(), null);
        }
      }));
    await test(`${name}: a tool of the server`, () =>
      converse(client, server, null, async ({ act, text }) => {
        await act('send', 'weather');
        assert.match(text(), /The weather tool says: "?sunny in Paris/);
      }));
    await test(`${name}: cut and resumed`, () =>
      converse(client, server, (n) => (n === 0 ? { cut: 600 } : {}), async ({ act, text, network }) => {
        await act('send', 'long');
        assert.ok(network.cuts > 0, 'nothing was cut');
        assert.equal(text(), long);
        assert.equal(network.runs.length, 1, 'the message was sent twice');
      }));
    for (const approved of from === 'ai-sdk' ? [true, false] : []) {
      await test(`${name}: ${approved ? 'approved' : 'denied'}`, () =>
        converse(client, server, null, async ({ act, text }) => {
          await act('send', 'delete');
          await act('approve', approved);
          if (approved) assert.match(text(), /The delete tool says: "?deleted Rome/);
          else assert.doesNotMatch(text(), /deleted Rome/);
        }));
    }
  } catch (error) {
    await test(name, () => Promise.reject(error));
  } finally {
    if (failed > 0) console.error(server.said);
    await server.stop();
  }

  const cut = await start(`${path}?cut=3000`, from);
  try {
    await test(`${name}: the upstream is cut`, () =>
      converse(client, cut, null, async ({ chat, act, text }) => {
        await act('send', 'long').catch(() => {});
        // Only the AI SDK's server can continue its answer.
        if (from === 'ai-sdk') assert.equal(text(), long);
        else assert.match(String(chat.error()), /upstream\.cut/);
      }));
  } finally {
    await cut.stop();
  }
}

for (const pair of pairs) await judge(pair);
console.log(`1..${count}\n# pass ${count - failed}\n# fail ${failed}`);
process.exit(failed === 0 ? 0 : 1);
