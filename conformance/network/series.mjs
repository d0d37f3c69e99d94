// One client with one server: so many conversations over a network that cuts, with a kill of the server in the middle.

import { randomUUID } from 'node:crypto';
import { Random } from '../clients/lib/random.mjs';
import { startModel, startServer } from './processes.mjs';
import { Proxy } from './proxy.mjs';

const TURNS = 2;
/** How long a page shows an error before the person, or the page itself, does something about it. */
const REACTION_MS = 500;
const GAVE_UP = Symbol('gave up');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param settings `conversations`, `atOnce`, `words` of an answer and their `pace` in ms, the `chance` of a cut, `patience` in ms for one
 *   answer, `seed`, and `load`, how many runs at once show what a run costs (0: not measured)
 */
export async function series(subject, { binary, ...settings }) {
  const { Page } = await import(`./clients/${subject.client}.mjs`);
  const model = await startModel(settings);
  const server = await startServer({ ...subject, binary, model: model.url });
  try {
    const cost = settings.load > 0 ? await load({ Page, server, subject, settings }) : {};
    const total = { conversations: settings.conversations, answers: 0, wrong: 0, duplicated: 0, missing: 0, withoutEnd: 0, errors: 0, cuts: 0, neverLive: 0, live: [] };
    let next = 0;
    let killed = Promise.resolve();
    const worker = async () => {
      while (next < settings.conversations) {
        const at = next++;
        if (at === Math.floor(settings.conversations / 2)) killed = sleep(settings.words * settings.pace * 0.5).then(() => server.restart());
        await new Conversation({ at, Page, server, subject, settings, total }).run();
      }
    };
    await Promise.all(Array.from({ length: settings.atOnce }, worker));
    await killed;
    return { ...summary(total, await model.count(), settings), ...cost };
  } finally {
    await server.stop();
    await model.stop();
  }
}

class Conversation {
  constructor(options) {
    Object.assign(this, options);
    this.pending = [];
    this.turn = -1;
  }

  async run() {
    const { at, server, settings, subject, total } = this;
    const random = new Random(settings.seed, at);
    const id = randomUUID();
    const proxy = await Proxy.start({ port: () => server.port, random, chance: settings.chance, pace: settings.pace });
    proxy.onCut = (passed) => {
      if (this.turn < 0) return;
      total.cuts += 1;
      this.pending.push({ passed, turn: this.turn, since: performance.now() });
    };
    this.page = new this.Page({ id, ...subject.where(proxy.base, id) });
    const sampler = setInterval(() => this.#sample(), 20);
    let ended = 0;
    for (let turn = 0; turn < TURNS; turn += 1) {
      proxy.nextTurn();
      this.turn = turn;
      const isEnd = await this.#ask(`repeat k${at}t${turn}`);
      this.turn = -1;
      if (!isEnd) break;
      this.#live(() => true);
      ended += 1;
    }
    clearInterval(sampler);
    total.neverLive += this.pending.length;
    if (ended < TURNS) total.withoutEnd += 1;
    this.#judge(ended);
    this.page.close();
    await proxy.close();
  }

  /** Asks, and does what a person does about errors, until there is an answer. Gives whether there is one in time. */
  async #ask(text) {
    const { settings, total, page } = this;
    const until = performance.now() + settings.patience;
    const inTime = (action) => Promise.race([action.catch((error) => void (process.env.HEADWATER_NETWORK_LOG && console.error(`# thrown: ${error.stack}`))), sleep(Math.max(0, until - performance.now())).then(() => GAVE_UP)]);
    let done = await inTime(page.send(text));
    while (done !== GAVE_UP && page.error !== null) {
      total.errors += 1;
      if (process.env.HEADWATER_NETWORK_LOG) console.error(`# ${text}: ${page.error}`);
      await sleep(REACTION_MS);
      done = await inTime(page.recover());
      if (performance.now() > until) return false;
    }
    return done !== GAVE_UP;
  }

  #answers() {
    const answers = [];
    for (const { role, text } of this.page.messages) {
      if (role === 'user') answers.push({ question: text, text: '' });
      else if (role === 'assistant' && answers.length > 0) answers.at(-1).text += text;
    }
    return answers;
  }

  /** The page is live again when it shows a word that it could not have from before the cut. */
  #sample() {
    if (this.pending.length === 0) return;
    const text = this.#answers()[this.turn]?.text ?? '';
    const shown = Math.max(-1, ...[...text.matchAll(/w(\d+) /g)].map(([, number]) => Number(number)));
    this.#live(({ passed }) => shown > passed);
  }

  #live(isOver) {
    const over = this.pending.filter(isOver);
    this.pending = this.pending.filter((cut) => !over.includes(cut));
    this.total.live.push(...over.map(({ since }) => (performance.now() - since) / 1000));
  }

  #judge(ended) {
    const { total, at, settings } = this;
    const answers = this.#answers();
    for (let turn = 0; turn < ended; turn += 1) {
      const { question, text } = answers[turn] ?? { text: '' };
      const expected = answer(`k${at}t${turn}`, settings.words);
      total.answers += 1;
      if (text.trim() === expected && question === `repeat k${at}t${turn}` && answers.length <= ended) continue;
      const common = commonLength(text.trim(), expected);
      total.wrong += 1;
      total.duplicated += text.trim().length - common;
      total.missing += expected.length - common;
      if (process.env.HEADWATER_NETWORK_LOG) console.error(`# wrong: ${JSON.stringify(this.page.messages)}`);
    }
  }
}

const answer = (question, words) => Array.from({ length: words }, (_, at) => `${question}w${at}`).join(' ');

/** How many characters two texts have in common, in order. */
function commonLength(a, b) {
  let row = new Uint16Array(b.length + 1);
  for (const char of a) {
    const next = new Uint16Array(b.length + 1);
    for (let at = 0; at < b.length; at += 1) next[at + 1] = char === b[at] ? row[at] + 1 : Math.max(row[at + 1], next[at]);
    row = next;
  }
  return row[b.length];
}

function summary({ live, ...total }, said, { conversations, words }) {
  const questions = Array.from({ length: conversations * TURNS }, (_, at) => `k${Math.floor(at / TURNS)}t${at % TURNS}`);
  const paidTwice = questions.reduce((sum, question) => sum + Math.max(0, (said[question] ?? 0) - words), 0);
  live.sort((a, b) => a - b);
  const quantile = (share) => live[Math.min(live.length - 1, Math.floor(live.length * share))];
  return { ...total, needed: questions.length * words, paidTwice, p50: quantile(0.5), p99: quantile(0.99) };
}

/** What runs cost while nothing disturbs them: so many at once, each with a page of its own. */
async function load({ Page, server, subject, settings }) {
  const talk = async (at) => {
    const id = randomUUID();
    const page = new Page({ id, ...subject.where(`http://127.0.0.1:${server.port}`, id) });
    await page.send(`repeat k${at}t0`);
    page.close();
  };
  // Loading and compiling happen once, and are no cost of a run.
  await Promise.all([10_000, 10_001, 10_002].map(talk));
  const before = { cpu: server.cpu(), memory: server.memory() };
  let most = before.memory;
  const sampler = setInterval(() => (most = Math.max(most, server.memory())), 50);
  await Promise.all(Array.from({ length: settings.load }, (_, at) => talk(20_000 + at)));
  clearInterval(sampler);
  const cpuMs = ((server.cpu() - before.cpu) * 1000) / ((settings.load * settings.words) / 1000);
  return { cpuMs, memoryKb: (most - before.memory) / settings.load / 1024 };
}
