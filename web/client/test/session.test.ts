// What other pages do in the session of a chat.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createChat, type Chat, type Session } from '@headwater/client';
import { watchSession } from '@headwater/client/session';
import { FakeServer, FakeStream, json, until } from './fake-server.js';
import { binary, RealServer } from './real-server.js';

const state = (chat: Chat) => chat.getSnapshot();
const textOf = (chat: Chat) => state(chat).messages.map(({ role, parts }) => `${role}:${parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}`);

/** A server whose session changes as a test says. */
class SessionServer extends FakeServer {
  /** The streams of the session that were asked for. */
  readonly watches: FakeStream[] = [];
  session: Partial<Session> | undefined;

  constructor() {
    super();
    this.on('GET sessions/*/events', (request) => {
      if (!this.session) return json({ error: 'no such session', code: 'session.unknown' }, 404);
      const stream = new FakeStream(request);
      this.watches.push(stream);
      stream.raw(this.#frame());
      return stream.response;
    });
    this.on('GET sessions/*', () => (this.session ? json(this.session) : json({ error: 'no such session', code: 'session.unknown' }, 404)));
    this.on('GET sessions/*/messages', () => json({ messages: [], before: null }));
  }

  /** Changes the session, and announces it. */
  change(session: Partial<Session>): void {
    this.session = { id: 's', lastRun: null, activeRun: null, waitingRun: null, queued: 0, ...session };
    const watch = this.watches.at(-1);
    if (watch && !watch.isCancelled) watch.raw(this.#frame());
  }

  #frame(): string {
    return `event: session\ndata: ${JSON.stringify(this.session)}\n\n`;
  }
}

test('turn of another page is followed as soon as it is announced, over one connection at a time', async () => {
  const server = new SessionServer();
  server.change({ lastRun: 'r1' });
  const chat = createChat(server.options({ session: 's', watch: watchSession }));
  const unsubscribe = chat.subscribe(() => {});
  await chat.load();
  await until(() => server.watches.length === 1);
  server.change({ lastRun: 'r2', activeRun: 'r2' });
  const run = await server.stream(0);
  assert.equal(run.request.path, 'runs/r2/events');
  await until(() => server.watches[0]?.isCancelled);
  run.send({ type: 'run-started', run: 'r2' }, { type: 'run-finished' });
  server.change({ lastRun: 'r2' });
  await until(() => server.watches.length === 2);
  assert.equal(state(chat).status, 'ready');
  unsubscribe();
  await until(() => server.watches[1]?.isCancelled);
});

test('nothing is asked for without a subscriber, and the own turn is not loaded again', async () => {
  const server = new SessionServer();
  const chat = createChat(server.options({ session: 's', watch: watchSession }));
  await chat.load();
  assert.equal(server.requests.filter(({ path }) => path === 'sessions/s/events').length, 0);
  chat.subscribe(() => {});
  await chat.send('hello');
  const run = await server.stream(0);
  run.send({ type: 'run-started', run: 'r1' }, { type: 'run-finished' });
  server.change({ lastRun: 'r1' });
  await until(() => server.watches.length === 1);
  const loads = () => server.requests.filter(({ path }) => path === 'sessions/s/messages').length;
  const before = loads();
  server.change({ lastRun: 'r1', queued: 0 });
  server.change({ lastRun: 'r2' });
  await until(() => loads() > before);
  assert.equal(loads(), before + 1, 'only the turn of the other page is loaded');
});

test('session that is not there yet is not asked for, and one that refuses is left', async () => {
  const server = new SessionServer();
  const chat = createChat(server.options({ session: 's', watch: watchSession }));
  const unsubscribe = chat.subscribe(() => {});
  const asked = () => server.requests.filter(({ path }) => path === 'sessions/s/events').length;
  await chat.load();
  await chat.sync();
  assert.equal(asked(), 0);
  // Another page has sent the first message; this one finds it when it becomes visible.
  server.change({ lastRun: 'r1' });
  await chat.sync();
  await until(() => server.watches.length === 1 && state(chat).run === 'r1');
  unsubscribe();
  server.on('GET sessions/*/events', () => json({ error: 'show a key', code: 'auth.missing' }, 401));
  const before = asked();
  chat.subscribe(() => {});
  await until(() => asked() === before + 1);
  await chat.sync();
  assert.equal(asked(), before + 1, 'the page is not let in, and does not insist');
});

describe('two pages and a real server', { skip: !binary, timeout: 120_000 }, () => {
  const server = new RealServer();
  before(() => server.start());
  after(() => server.stop());

  test('what one page does is seen by the other: turns, variants, a rollback', async () => {
    const open = () => createChat({ url: server.url, agent: 'chat', session: 'shared', watch: watchSession, retryDelay: () => 50, maxRetries: 1000 });
    const [one, two] = [open(), open()];
    const unsubscribe = [one, two].map((chat) => chat.subscribe(() => {}));
    const same = (count: number) => until(() => [one, two].every((chat) => state(chat).status === 'ready' && state(chat).connection === 'closed' && state(chat).messages.length === count) && textOf(one).join() === textOf(two).join());
    await one.send('hello');
    await two.sync();
    await same(2);
    await two.send('again');
    await same(4);
    const first = state(two).messages[2]?.id as string;
    const replaced = state(two).run;
    await one.regenerate();
    await until(() => [one, two].every((chat) => state(chat).run !== replaced));
    await same(4);
    const variants = await two.variants(first);
    assert.deepEqual(variants.map(({ selected }) => selected), [false, true]);
    await two.select(variants[0]?.checkpoint.id as string);
    await until(() => state(one).run === variants[0]?.checkpoint.run);
    await same(4);
    // The message kept its id, and is edited by it.
    await one.edit(first, 'another text');
    await until(() => textOf(two)[2] === 'user:another text');
    await same(4);
    await two.rollBack(state(two).messages[1]?.id as string);
    await same(2);
    for (const stop of unsubscribe) stop();
  });
});
