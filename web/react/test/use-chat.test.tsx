import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { act, complaints, render, until } from './dom.js';
import { FakeServer, json } from '../../client/test/fake-server.js';
import { useChat, useInterrupts, type UseChat } from '@headwater/react';
import type { Chat, ChatOptions, Message } from '@headwater/client';

afterEach(() => assert.deepEqual(complaints.splice(0), []));

const textOf = (message: Message) => message.parts.map((part) => ('text' in part ? part.text : '')).join('');
let latest: UseChat;
let renders = 0;

function Page({ options }: { options: ChatOptions }) {
  latest = useChat(options);
  renders += 1;
  return <p>{latest.messages.map((message) => `${message.role}:${textOf(message)};`)}{latest.status}</p>;
}

const began = { type: 'run-started', run: 'r1' } as const;
const finished = { type: 'run-finished', reason: 'stop' } as const;

test('chat is sent, streamed and finished in StrictMode', async () => {
  const server = new FakeServer();
  const options = server.options({ session: 's1' });
  const page = await render(<Page options={options} />);
  await act(() => latest.send('Hi'));
  const stream = await server.stream(0);
  stream.send(began);
  stream.text('Hello');
  await until(() => page.text() === 'user:Hi;assistant:Hello;streaming');
  stream.send(finished);
  await until(() => page.text() === 'user:Hi;assistant:Hello;ready');
  await page.unmount();
});

test('400 chunks of a replay render a few times, without an error of React', async () => {
  const server = new FakeServer();
  server.on('GET sessions/*', () => json({ id: 's1', lastRun: 'r1', activeRun: 'r1', waitingRun: null, queued: 0 }));
  server.on('GET sessions/*/messages', () => json({ messages: [], before: null }));
  const options = server.options({ session: 's1', flushInterval: 16 });
  const page = await render(<Page options={options} />);
  // StrictMode loads twice; the second stream is the one that is read.
  await until(() => server.streams.length > 0 && !server.streams.at(-1)?.isCancelled);
  const stream = server.streams.at(-1);
  renders = 0;
  stream?.send([began, { replay: true }]);
  for (let index = 0; index < 20; index += 1) {
    const call = `c${index}`;
    stream?.send(
      [{ type: 'tool-input-available', call, name: 'search', input: { index } }, { replay: true }],
      [{ type: 'tool-output', call, output: index }, { replay: true }],
    );
  }
  for (let index = 0; index < 360; index += 1) stream?.text('x');
  await until(() => page.text().includes('x'.repeat(360)));
  assert.ok(renders <= 50, `${renders} renders`);
  await page.unmount();
  await until(() => stream?.isCancelled);
});

test('unmounting leaves the stream, and stops nothing', async () => {
  const server = new FakeServer();
  const options = server.options({ session: 's1' });
  const page = await render(<Page options={options} />);
  await act(() => latest.send('Hi'));
  const stream = await server.stream(0);
  await page.unmount();
  await until(() => stream.isCancelled);
  assert.ok(!server.requests.some(({ path }) => path.endsWith('stop')));
});

test('another session is another chat, and callbacks may change', async () => {
  const server = new FakeServer();
  const page = await render(<Page options={server.options({ session: 'one' })} />);
  const { chat } = latest;
  const seen: string[] = [];
  await page.rerender(<Page options={server.options({ session: 'one', onChunk: ({ event }) => seen.push(event.type) })} />);
  assert.equal(latest.chat, chat);
  await act(() => latest.send('Hi'));
  (await server.stream(0)).send(began);
  await until(() => seen.length > 0);
  await page.rerender(<Page options={server.options({ session: 'two' })} />);
  assert.notEqual(latest.chat, chat);
  assert.equal(latest.session, 'two');
  assert.deepEqual(latest.messages, []);
  await page.unmount();
});

test('actions keep their identity between renders', async () => {
  const server = new FakeServer();
  const page = await render(<Page options={server.options({ session: 's1' })} />);
  const { send, approve } = latest;
  await act(() => send('Hi'));
  assert.equal(latest.send, send);
  assert.equal(latest.approve, approve);
  await page.unmount();
});

test('interrupts render only when they change, and can be answered', async () => {
  const server = new FakeServer().on('POST runs/*/answer', () => json({}, 202));
  let rendersOfInbox = 0;
  function Inbox({ chat }: { chat: Chat }) {
    const { waiting, approve } = useInterrupts(chat);
    rendersOfInbox += 1;
    return <>{waiting.map((open) => open.kind === 'approval' && <button key={open.request} onClick={() => void approve(open.request)}>{open.name}</button>)}</>;
  }
  const options = server.options({ session: 's1' });
  const page = await render(<Page options={options} />);
  const inbox = await render(<Inbox chat={latest.chat} />);
  await act(() => latest.send('Hi'));
  const stream = await server.stream(0);
  const before = rendersOfInbox;
  for (let index = 0; index < 20; index += 1) {
    stream.text('x');
    await until(() => page.text().includes('x'.repeat(index + 1)));
  }
  assert.equal(rendersOfInbox, before, 'words are not its business');
  stream.send({ type: 'approval-requested', approval: 'q1', call: 'c1', name: 'delete_file' }, { type: 'run-waiting' });
  await until(() => inbox.text() === 'delete_file');
  await act(() => latest.approve('q1'));
  assert.deepEqual(server.requests.at(-1)?.body, { request: 'q1', approved: true });
  await inbox.unmount();
  await page.unmount();
});
