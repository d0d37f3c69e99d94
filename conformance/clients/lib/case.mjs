// One scenario with one client: undisturbed, and again with everything that a network and a machine do to it.

import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { get } from './http.mjs';
import { answers, flatten } from './flat.mjs';
import { normal, plain } from './normal.mjs';
import { Proxy } from './proxy.mjs';
import { reduce } from './reduce.mjs';
import { until, within } from './until.mjs';
import { expected, settled, settledMessages } from './expected.mjs';

/** How often a client may reconnect in one step before it counts as lost. */
const COMINGS_BACK = 20;

export class Case {
  constructor({ client, scenario, server, binary }) {
    Object.assign(this, { client, scenario, server, binary });
  }

  /** The undisturbed run, held to what the scenario says. Everything else is compared with it. */
  async undisturbed() {
    const seen = await this.#perform();
    this.reference = seen;
    const { shows } = this.client;
    const wanted = expected(this.scenario, this.client);
    if (wanted) equal('the last answer', only(shows, settled(seen.flat, this)), only(shows, settled(wanted, this)));
    const error = this.scenario.error ?? (this.scenario.stops ? this.client.stopsAs : undefined);
    if (error ? !seen.error?.includes(error) : seen.error !== null) {
      throw new Error(`the client shows the error ${JSON.stringify(seen.error)}, and not ${JSON.stringify(error ?? null)}`);
    }
    return seen;
  }

  /** What the journal says in this dialect, read by the same client, and by `headwater reduce`. */
  async journal() {
    const { dialect, profile, framing, family, shows } = this.client;
    const { where, flat } = this.reference;
    const query = new URLSearchParams({ dialect, ...(profile ? { profile } : {}), ...(framing ? { framing } : {}) });
    const response = await get(where, `/v1/runs/${where.run()}/events?${query}`);
    const body = Buffer.from(await response.arrayBuffer());

    const replayed = await this.client.open({
      base: 'http://journal.invalid',
      agent: this.scenario.agent,
      session: where.session,
      run: where.run,
      fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
    });
    try {
      await within('the journal to be read', replayed.send('go'));
      const projected = flatten(family, plain(replayed.messages()));
      equal('the journal, read by the client', only(shows, settled(projected, this)), only(shows, settled(flat, this)));
    } finally {
      replayed.close();
    }

    const reduced = await this.reduced(dialect, body);
    const wanted = expected(this.scenario, this.client);
    // Where objects and failures become calls and results, the client itself is the judge of them.
    const read = ['ag-ui', 'tanstack'].includes(family) ? ['text', 'reasoning'] : shows;
    if (wanted) equal('the journal, reduced', only(read, settled(reduced, this)), only(read, wanted));

    // On our own wire nothing is left out.
    const native = await get(where, `/v1/runs/${where.run()}/events`);
    const whole = await this.reduced('native', Buffer.from(await native.arrayBuffer()));
    const all = expected(this.scenario, { name: 'native', family: 'ai-sdk' });
    if (all) equal('the journal on the native wire', settled(whole, { scenario: this.scenario }), all);
  }

  /** What `headwater reduce` makes of a stream. */
  async reduced(dialect, body) {
    const { family } = this.client;
    const state = await reduce(this.binary, dialect, body);
    const reduced = flatten('ai-sdk', [{ role: 'user', parts: [] }, ...state.messages]);
    if (dialect === 'native') return reduced;
    if (!['ai-sdk', 'mui'].includes(family)) reduced.tools = reduced.tools.filter(({ toolName }) => toolName !== 'ask_user');
    reduced.structured = Object.values(state.structured).map(({ dataType, data }) => ({ dataType, data }));
    return reduced;
  }

  /** The last request of the undisturbed run, byte for byte, once more: it must not begin a second run. */
  async repeated() {
    const { where, requests, runs } = this.reference;
    const last = requests.findLast(({ method, url }) => method === 'POST' && /\/chat[?]/.test(url));
    const { host, connection, 'content-length': _, ...headers } = last.headers;
    const response = await fetch(`${where.base}${last.url}`, { method: 'POST', headers, body: last.body });
    const body = await within('the repeated request to be answered', response.text());
    if (!response.ok) throw new Error(`the repeated request was answered ${response.status}: ${body}`);
    const run = response.headers.get('x-run-id') ?? JSON.parse(body).run;
    if (run !== runs.at(-1)) throw new Error(`run ${runs.at(-1)} is there, and the same request began ${run}`);
  }

  /** Runs the case again with faults chosen by `random`; `kill` restarts the server if a fault requires it. */
  async disturbed(random, { kill } = {}) {
    const { sizes } = this.reference;
    let left = random.between(1, 3);
    const plan = [];
    let error = null;
    const fault = (n) => {
      const size = sizes[Math.min(n, sizes.length - 1)] ?? 0;
      const chosen = { pieces: random.next() < 0.2, stallAt: random.next() < 0.2 ? random.between(0, size) : -1 };
      if (left > 0 && random.next() < 0.8) {
        left -= 1;
        chosen.cut = random.between(-1, size);
        chosen.kill = kill !== undefined;
      }
      plan.push({ n, ...chosen });
      return chosen;
    };
    try {
      const seen = await this.#perform(fault, kill);
      error = seen.error;
      this.#assertSame(seen);
      return seen;
    } catch (thrown) {
      thrown.message += `\nits error: ${error}\nfaults: ${JSON.stringify(plan)}`;
      throw thrown;
    }
  }

  /**
   * Runs the case while the node that answers stands still for longer than its lease: the run ends on another, and nothing
   * that the node writes when it continues may be seen.
   */
  async paused({ pause, resume }) {
    const { sizes } = this.reference;
    const longest = sizes.indexOf(Math.max(...sizes));
    const fault = (n) => (n === longest ? { cut: Math.floor(sizes[n] / 4), kill: true } : {});
    const seen = await this.#perform(fault, pause);
    this.#assertSame(seen);
    const records = async () => {
      const response = await get(seen.where, `/v1/runs/${seen.runs.at(-1)}/events`);
      return (await response.text()).split('\n').filter((line) => line.startsWith('data:'));
    };
    const before = await records();
    if (!before.some((line) => line.includes('attempt-retracted'))) throw new Error('no other node took the run over');
    await resume();
    equal('the records of the run', await records(), before);
    return seen;
  }

  /** Holds a disturbed run to the undisturbed one. */
  #assertSame(seen) {
    const shown = (flat) => only(this.client.shows, settled(flat, this));
    equal('the last answer', shown(seen.flat), shown(this.reference.flat));
    equal('an answer', seen.answers.map(shown), this.reference.answers.map(shown));
    // A client may keep a place for an answer that failed, or was stopped before it said anything.
    if (seen.error === null && !this.scenario.stops && seen.messages.some(isEmpty) && !this.reference.messages.some(isEmpty)) {
      throw new Error(`an answer without anything in it: ${brief(seen.messages)}`);
    }
    // Results that come from two sides stand in the order of their coming.
    const ordered = this.scenario.needs !== 'everything';
    if (this.client.exact !== false && ordered && !this.scenario.stops && !this.scenario.dead) {
      equal('the messages', settledMessages(seen.normal), settledMessages(this.reference.normal));
    }
    if ((seen.error === null) !== (this.reference.error === null)) {
      throw new Error(`the client shows the error ${JSON.stringify(seen.error)}, undisturbed ${JSON.stringify(this.reference.error)}`);
    }
  }

  async #perform(fault, kill) {
    const proxy = await Proxy.start(() => this.server.port);
    if (fault) proxy.disturb(fault, kill);
    const where = {
      base: proxy.base,
      agent: this.scenario.agent,
      session: randomUUID(),
      // A page knows its run from the header of the stream.
      run: () => proxy.runs.at(-1),
    };
    const chat = await this.client.open(where);
    try {
      for (const [name, output] of Object.entries(this.scenario.tools ?? {})) chat.registerTool(name, output);
      for (const [action, ...given] of this.scenario.steps) {
        await this.#step(chat, proxy, action, given).catch((error) => {
          error.message = `${action} ${given.join(' ')}: ${error.message}\nerror: ${chat.error()}\nmessages: ${brief(chat.messages())}`;
          throw error;
        });
      }
      const direct = { ...where, base: `http://127.0.0.1:${await this.server.port}` };
      const turns = this.scenario.turns ?? 1;
      if (proxy.runs.length !== turns) throw new Error(`${turns} turns were ${proxy.runs.length} runs`);
      const messages = plain(chat.messages());
      return {
        where: direct,
        messages,
        flat: flatten(this.client.family, messages),
        answers: answers(this.client.family, messages),
        normal: normal(messages),
        error: chat.error(),
        sizes: proxy.sizes,
        cuts: proxy.cuts,
        requests: proxy.requests,
        runs: proxy.runs,
      };
    } finally {
      chat.close();
      await proxy.close();
    }
  }

  async #step(chat, proxy, action, given) {
    let stopped = false;
    const acted = async (what, acting) => {
      if (this.scenario.stops && !stopped) stopped = await this.#stop(chat, acting);
      await within(what, acting);
    };
    let cuts = proxy.cuts;
    await acted(`${action} to end`, chat[action](...given));
    // A stream that a dying server ends looks cut to the reader, though no fault of its own did it.
    const looksCut = () => chat.error() === 'the stream ended before the run did';
    for (let times = 0; proxy.cuts > cuts || looksCut(); times += 1) {
      if (times > COMINGS_BACK) throw new Error('the client never came to the end');
      cuts = proxy.cuts;
      await acted('the client to reconnect', chat.resume());
    }
    if (chat.error() !== null && !this.scenario.error && !this.scenario.stops) throw new Error('the client gave up');
  }

  /** Stops the run once its first words are seen, unless the action ends before. */
  async #stop(chat, acting) {
    let over = false;
    acting.then(() => (over = true), () => (over = true));
    const text = () => flatten(this.client.family, plain(chat.messages())).text.join('');
    await until('the first words', () => over || text().length > 8);
    if (over) return false;
    await chat.stop();
    return true;
  }
}

/** A bubble on the page with nothing in it. */
function isEmpty({ role, parts }) {
  return role === 'assistant' && parts?.length === 0;
}

function only(keys, flat) {
  return Object.fromEntries(keys.map((key) => [key, flat[key] ?? []]));
}

function equal(what, seen, wanted) {
  const [a, b] = [normal(seen), normal(wanted)];
  if (isDeepStrictEqual(a, b)) return;
  const lines = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((key) => !isDeepStrictEqual(a[key], b[key]));
  const told = lines.map((key) => `  ${key}:\n    ${JSON.stringify(a[key])}\n    wanted ${JSON.stringify(b[key])}`);
  throw new Error(`${what} differs:\n${told.join('\n')}`);
}

function brief(messages) {
  const text = JSON.stringify(messages) ?? '';
  return text.length > 1_500 ? `${text.slice(0, 700)} … ${text.slice(-700)}` : text;
}
