// `createChat` against a real server.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createChat, type Chat, type ChatOptions, type Message, type Part } from '@headwater/client';
import { decide, readStream } from '@headwater/client/tanstack';
import { until } from './fake-server.js';
import { binary, RealServer } from './real-server.js';

if (!binary) assert.notEqual(process.env['CI'], 'true', 'HEADWATER_BINARY is not set');

const server = new RealServer();
const chats: Chat[] = [];

function open(options: Partial<ChatOptions> = {}): Chat {
  const chat = createChat({ url: server.url, retryDelay: () => 50, maxRetries: 1000, ...options });
  chats.push(chat);
  return chat;
}

const state = (chat: Chat) => chat.getSnapshot();
const settled = (chat: Chat) => until(() => state(chat).connection === 'closed' && /ready|error/.test(state(chat).status));
const waits = (chat: Chat) => until(() => state(chat).waiting.length > 0 && state(chat).status === 'ready');
const texts = (message: Message | undefined) => (message?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
const said = (chat: Chat) => texts(state(chat).messages.at(-1));
const parts = <T extends Part['type']>(chat: Chat, type: T) =>
  state(chat).messages.flatMap((message) => message.parts).filter((part): part is Extract<Part, { type: T }> => part.type === type);

/** What the server keeps of a session. */
async function kept(chat: Chat): Promise<Message[]> {
  const response = await fetch(`${server.url}/v1/sessions/${state(chat).session}/messages`);
  return ((await response.json()) as { messages: Message[] }).messages;
}

describe('chat with a real server', { skip: !binary, timeout: 120_000 }, () => {
  before(() => server.start());
  after(() => server.stop());

  test('answer ends as the message that the server keeps', async () => {
    for (const [agent, input] of [['chat', 'hello'], ['chat', 'long'], ['table', 'rivers'], ['tools', 'compare Paris and Rome'], ['flaky', 'hello']] as const) {
      const chat = open({ agent });
      await chat.send(input);
      await settled(chat);
      const [live, server] = [state(chat).messages, await kept(chat)];
      // What was thought out loud and transient is the same too.
      assert.deepEqual(live, server, `${agent} ${input}`);
    }
  });

  test('tool of the server runs', async () => {
    const chat = open({ agent: 'tools' });
    await chat.send('weather in Paris');
    await settled(chat);
    assert.deepEqual(parts(chat, 'tool').map(({ name, state: at }) => [name, at]), [['get_weather', 'output-available']]);
    assert.match(said(chat), /In Paris it is/);
  });

  test('approval, and a tool of the page, in one step', async () => {
    const chat = open({ agent: 'tools', tools: { get_location: () => ({ city: 'Oslo' }) } });
    await chat.send('everything');
    await until(() => state(chat).waiting.some(({ kind }) => kind === 'approval'));
    const approval = state(chat).waiting.find(({ kind }) => kind === 'approval');
    assert.ok(approval?.kind === 'approval' && approval.name === 'delete_file');
    assert.ok((await chat.listWaiting()).some(({ request }) => request === approval.request));
    await chat.approve(approval.request, { approved: false, reason: 'I need it' });
    await settled(chat);
    assert.match(said(chat), /You are in Oslo/);
    assert.match(said(chat), /I left notes.txt alone, as you wished \(you said: I need it\)/);
    assert.deepEqual(state(chat).messages, await kept(chat));
  });

  test('question about a structured object is answered twice', async () => {
    const chat = open({ agent: 'email' });
    await chat.send('the beta');
    await waits(chat);
    const subject = (part: Extract<Part, { type: 'structured' }> | undefined) => (part?.data as { subject: string }).subject;
    assert.equal(subject(parts(chat, 'structured')[0]), 'News: the beta');
    const [question] = state(chat).waiting;
    assert.ok(question?.kind === 'question');
    await chat.answer(question.request, 'revise');
    await until(() => state(chat).waiting.some((open) => open.kind === 'question' && open.request !== question.request));
    await chat.answer((state(chat).waiting[0] as typeof question).request, 'send');
    await settled(chat);
    assert.equal(said(chat), 'Sent: News: the beta');
    assert.deepEqual(parts(chat, 'question').map(({ state: at, answer }) => [at, answer]), [['answered', 'revise'], ['answered', 'send']]);
  });

  test('reload in the middle of a run finds the rest of it', async () => {
    const kept = new Map<string, string>();
    const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) };
    const first = open({ agent: 'chat', storage });
    await first.send('long');
    await until(() => said(first).length > 100);
    first.detach();
    const reloaded = open({ agent: 'chat', storage });
    await reloaded.load();
    await settled(reloaded);
    assert.equal(said(reloaded).split(/\s+/).length, 400);
    assert.deepEqual(state(reloaded).messages.map(({ role }) => role), ['user', 'assistant']);
  });

  test('reload while a run waits can still answer', async () => {
    const first = open({ agent: 'tools' });
    await first.send('delete notes.txt');
    await waits(first);
    first.detach();
    const reloaded = open({ agent: 'tools', session: state(first).session });
    await reloaded.load();
    await waits(reloaded);
    const [approval] = state(reloaded).waiting;
    assert.ok(approval?.kind === 'approval');
    await reloaded.approve(approval.request);
    await settled(reloaded);
    assert.match(said(reloaded), /I deleted notes.txt/);
  });

  test('server that is killed in the middle loses and repeats nothing', async () => {
    const undisturbed = open({ agent: 'chat' });
    await undisturbed.send('long');
    await settled(undisturbed);
    const chat = open({ agent: 'chat' });
    const lost: string[] = [];
    chat.subscribe(() => lost.push(state(chat).connection));
    await chat.send('long');
    await until(() => said(chat).length > 200);
    await server.kill();
    await until(() => lost.includes('lost'));
    await server.start();
    await settled(chat);
    assert.equal(state(chat).error, undefined);
    assert.equal(said(chat), said(undisturbed));
    assert.deepEqual(state(chat).messages, await kept(chat));
  });

  test('approval in one client is seen in the other', async () => {
    const one = open({ agent: 'tools' });
    await one.send('delete notes.txt');
    await waits(one);
    const two = open({ agent: 'tools', session: state(one).session });
    await two.load();
    await waits(two);
    const [approval] = state(two).waiting;
    assert.ok(approval?.kind === 'approval');
    await two.approve(approval.request);
    await Promise.all([settled(one), settled(two)]);
    assert.match(said(one), /I deleted notes.txt/);
    assert.deepEqual(state(one).messages, state(two).messages);
  });

  test('tool of the page that two clients execute at once is an error in neither', async () => {
    // Both have been called before either answers, so one is later for certain.
    let calls = 0;
    const errors: unknown[] = [];
    const tools = { get_location: () => ((calls += 1), until(() => calls === 2).then(() => ({ city: 'Oslo' }))) };
    const options = { agent: 'tools', tools, onError: (error: unknown) => errors.push(error) };
    const one = open(options);
    const two = open({ ...options, session: state(one).session });
    await one.send('where am I?');
    await until(() => state(one).run);
    await two.load();
    await Promise.all([settled(one), settled(two)]);
    assert.equal(calls, 2);
    assert.deepEqual([errors, state(one).error, state(two).error], [[], undefined, undefined]);
    assert.match(said(one), /Oslo/);
    assert.equal(said(one), said(two));
  });

  test('other client sees a new message when it looks', async () => {
    const one = open({ agent: 'chat' });
    await one.send('hello');
    await settled(one);
    const two = open({ agent: 'chat', session: state(one).session });
    await two.load();
    await one.send('what did I say?');
    await settled(one);
    await two.sync();
    await settled(two);
    assert.deepEqual(state(two).messages, state(one).messages);
  });

  test('stop ends the run and keeps what it said', async () => {
    const finishes: boolean[] = [];
    const chat = open({ agent: 'chat', onFinish: ({ isAbort }) => finishes.push(isAbort) });
    await chat.send('long');
    await until(() => said(chat).length > 50);
    await chat.stop();
    await settled(chat);
    assert.deepEqual(finishes, [true]);
    assert.ok(said(chat).split(/\s+/).length < 400);
    assert.deepEqual(state(chat).messages, await kept(chat));
  });

  test('edit, regenerate, roll back and fork', async () => {
    const chat = open({ agent: 'chat' });
    await chat.send('one thing');
    await settled(chat);
    await chat.send('second thing');
    await settled(chat);
    const [first, firstAnswer, second] = state(chat).messages;
    await chat.edit(second?.id as string, 'other thing');
    await settled(chat);
    assert.deepEqual(state(chat).messages.map(({ role }) => role), ['user', 'assistant', 'user', 'assistant']);
    assert.equal(texts(state(chat).messages[2]), 'other thing');
    assert.match(said(chat), /other thing/);
    assert.equal(state(chat).messages[0], first, 'what did not change keeps its identity');
    const before = state(chat).messages.at(-1)?.id;
    await chat.regenerate();
    await settled(chat);
    assert.notEqual(state(chat).messages.at(-1)?.id, before);
    assert.match(said(chat), /other thing/);
    const forked = await chat.fork(firstAnswer?.id);
    const fork = open({ agent: 'chat', session: forked.id });
    await fork.load();
    assert.deepEqual(state(fork).messages.map(texts), state(chat).messages.slice(0, 2).map(texts));
    await chat.rollBack(firstAnswer?.id as string);
    assert.equal(state(chat).messages.length, 2);
  });

  test('queue is listed, edited, emptied and sent', async () => {
    const chat = open({ agent: 'chat' });
    await chat.send('slow');
    await until(() => state(chat).status === 'streaming');
    await chat.send('second');
    await chat.send('third');
    assert.deepEqual(state(chat).queue.map(({ text }) => text), ['second', 'third']);
    const [second, third] = state(chat).queue;
    await chat.queue.edit(third?.run as string, 'changed');
    await chat.queue.remove(second?.run as string);
    assert.deepEqual((await chat.queue.list()).map(({ text }) => text), ['changed']);
    await chat.queue.sendNow(third?.run as string);
    await settled(chat);
    await until(() => /changed/.test(said(chat)));
    assert.deepEqual(state(chat).queue, []);
    assert.deepEqual(state(chat).messages.filter(({ role }) => role === 'user').map(texts), ['slow', 'changed']);
  });

  test('queued message is answered when the run before it has ended', async () => {
    const chat = open({ agent: 'chat' });
    await chat.send('long');
    await until(() => state(chat).status === 'streaming');
    await chat.send('hello');
    await until(() => /I am the demo agent/.test(said(chat)) && state(chat).connection === 'closed');
    assert.deepEqual(state(chat).messages, await kept(chat));
  });

  test('unknown agent and failing run are errors with a code', async () => {
    const unknown = open({ agent: 'nobody' });
    await assert.rejects(unknown.send('hello'), { code: 'agent.unknown', status: 404 });
    const failing = open({ agent: 'chat' });
    await failing.send('error');
    await settled(failing);
    assert.equal(state(failing).status, 'error');
    assert.ok(state(failing).error?.code);
  });

  test('decision of a TanStack 0.2 page reaches the call', async () => {
    const url = `${server.url}/v1/tanstack/tools/chat`;
    const conversationId = 'decided';
    const ask = (messages: unknown[]) =>
      fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ messages, data: { conversationId } }) });
    const question = { role: 'user', content: 'delete notes.txt' };
    const calls: { toolCallId: string; toolName: string; input: unknown; approval: { id: string } }[] = [];
    const asked = await ask([question]);
    assert.equal(asked.status, 200, asked.statusText);
    for await (const chunk of readStream(asked)) {
      if (chunk.type === 'approval-requested') calls.push(chunk as unknown as (typeof calls)[number]);
    }
    const [call] = calls;
    assert.ok(call, 'the server asks for approval');
    await decide(url, { conversationId, approvalId: call.approval.id, approved: false, reason: 'not today' });
    const made = { id: call.toolCallId, type: 'function', function: { name: call.toolName, arguments: JSON.stringify(call.input) } };
    let text = '';
    for await (const chunk of readStream(await ask([question, { role: 'assistant', content: null, toolCalls: [made] }]))) {
      if (chunk.type === 'content') text += String(chunk['delta']);
    }
    assert.match(text, /not today/);
    await assert.rejects(decide(url, { conversationId, approvalId: 'never-asked', approved: true }), { code: 'request.not-open' });
  });
});
