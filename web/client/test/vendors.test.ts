// The vendors' own clients with our transports, against a real server, over connections that fail.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as agUi from '@ag-ui/client';
import { Chat as Chat7 } from '@ai-sdk/react';
import { Chat as Chat6 } from '@ai-sdk/react-v3';
import { createChatTransport, createConnection, withConnect } from '@headwater/client/transports';
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client';
import { brokenFetch, type Failure } from './broken-network.js';
import { until } from './fake-server.js';
import { binary, RealServer } from './real-server.js';

const server = new RealServer();
const patient = { retryDelay: () => 50, maxRetries: 1000 };
const cuts: Failure[] = [{ after: 700, how: 'cut' }, { after: 2500, how: 'cut' }, { after: 1, how: 'cut' }, { after: 6000, how: 'cut' }];
const silences: Failure[] = [{ after: 900, how: 'silence' }, { after: 3000, how: 'silence' }];
const failing: [string, Failure[]][] = [['that is cut', cuts], ['that goes silent', silences]];
/** Long enough for a busy machine to accept a connection, and far shorter than the heartbeats. */
const stallTimeout = 3000;
let conversations = 0;
const newId = () => `vendor-${(conversations += 1)}`;

/** What a page shows, whatever the ids are. */
const shown = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, inner: unknown) => (/^(id|createdAt|timestamp|runId|messageId|toolCallId|parentRunId|providerMetadata)$/.test(key) ? undefined : inner)));

interface Part {
  type: string;
  text?: string;
}

/** A page of the AI SDK: what it shows, and what its callbacks were given. */
async function askAiSdk(version: 6 | 7, agent: string, text: string, { profile = '', onText, ...options }: Parameters<typeof createChatTransport>[0] extends infer T ? Partial<T> & { profile?: string; onText?: () => Promise<void> } : never = {}) {
  const transport = createChatTransport({ api: `${server.url}/v1/ai-sdk/${agent}/chat${profile}`, ...patient, ...options });
  const seen = { data: [] as unknown[], calls: [] as string[], errors: [] as unknown[] };
  const init = {
    id: newId(),
    // How often an object is seen while it grows is a matter of time, and a cut may take what is transient along.
    onData: (data: { id?: string | undefined; transient?: boolean | undefined }) => void (data.id === undefined && !data.transient && seen.data.push(shown(data))),
    onToolCall: ({ toolCall }: { toolCall: { toolName: string } }) => void seen.calls.push(toolCall.toolName),
    onError: (error: unknown) => void seen.errors.push(error),
  };
  const chat = version === 7 ? new Chat7({ ...init, transport }) : new Chat6({ ...init, transport });
  const parts = () => chat.messages.slice(1).flatMap((message) => message.parts as Part[]);
  const words = () => parts().flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : []));
  const sending = chat.sendMessage({ text });
  if (onText) {
    await until(() => words().join('').length > 200);
    await onText();
  }
  await sending;
  assert.deepEqual(seen.errors, []);
  assert.equal(chat.messages.length, 2);
  return { parts: shown(parts()), words: words(), ...seen };
}

describe('useChat of the AI SDK with our transport', { skip: !binary, timeout: 480_000 }, () => {
  before(() => server.start());
  after(() => server.stop());

  for (const version of [6, 7] as const) {
    for (const [name, failures] of failing) {
      test(`ai ${version} shows a stream ${name} as if nothing had happened`, async () => {
        for (const [agent, text] of [['chat', 'long'], ['tools', 'compare Paris and Rome'], ['table', 'rivers']] as const) {
          const undisturbed = await askAiSdk(version, agent, text);
          const { fetch, streams } = brokenFetch(...failures);
          const disturbed = await askAiSdk(version, agent, text, { fetch, stallTimeout });
          const { calls, ...rest } = disturbed;
          assert.deepEqual({ ...rest, calls: undisturbed.calls }, undisturbed, `${agent} ${text}`);
          // A call that had its output meanwhile is not announced any more.
          assert.ok(calls.length <= undisturbed.calls.length, `${calls.length} calls`);
          assert.ok(streams.length > 1, 'it reconnected');
        }
      });
    }
  }

  test('server that is killed loses and repeats nothing where attempts can be retracted', async () => {
    const profile = '?profile=ai-7';
    const undisturbed = await askAiSdk(7, 'chat', 'long', { profile });
    const disturbed = await askAiSdk(7, 'chat', 'long', { profile, onText: restart });
    assert.deepEqual(disturbed.words, undisturbed.words);
  });

  test('server that is killed leaves a beginning, and sends the whole answer, where attempts cannot be retracted', async () => {
    for (const version of [6, 7] as const) {
      const { words: [whole = ''] } = await askAiSdk(version, 'chat', 'long');
      const { words } = await askAiSdk(version, 'chat', 'long', { onText: restart });
      assert.equal(words.at(-1), whole);
      for (const beginning of words.slice(0, -1)) assert.ok(whole.startsWith(beginning), beginning);
      assert.ok(words.length <= 2, `${words.length} texts`);
    }
  });
});

async function restart(): Promise<void> {
  await server.kill();
  await server.start();
}

describe('HttpAgent of AG-UI with connect()', { skip: !binary, timeout: 480_000 }, () => {
  before(() => server.start());
  after(() => server.stop());

  const open = (agent: string, threadId: string, options: Parameters<typeof withConnect>[1] = {}) => {
    const HeadwaterAgent = withConnect(agUi, { ...patient, ...options });
    return new HeadwaterAgent({ url: `${server.url}/v1/ag-ui/${agent}/chat`, threadId });
  };
  const said = (agent: agUi.HttpAgent) => agent.messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`);
  const begin = (agent: agUi.HttpAgent, content: string) => {
    agent.addMessage({ id: newId(), role: 'user', content });
    return agent.runAgent();
  };

  for (const [name, failures] of failing) {
    test(`run whose stream ${name} ends as if nothing had happened`, async () => {
      for (const [name, text] of [['chat', 'long'], ['tools', 'compare Paris and Rome']] as const) {
        const undisturbed = open(name, newId());
        await begin(undisturbed, text);
        const { fetch, streams } = brokenFetch(...failures);
        const disturbed = open(name, newId(), { fetch, stallTimeout });
        await begin(disturbed, text);
        assert.deepEqual(said(disturbed), said(undisturbed));
        assert.ok(streams.length > 1, 'it reconnected');
      }
    });
  }

  test('run continues when the server was killed', async () => {
    const undisturbed = open('chat', newId());
    await begin(undisturbed, 'long');
    const disturbed = open('chat', newId());
    const running = begin(disturbed, 'long');
    await until(() => said(disturbed).join('').length > 300);
    await restart();
    await running;
    // The protocol cannot retract: what only this reader saw stays before the whole answer.
    assert.equal(said(disturbed).at(-1), said(undisturbed).at(-1));
  });

  test('page that is opened in the middle of a run has its thread, and the rest, over cut connections', async () => {
    const thread = newId();
    const first = open('chat', thread);
    const running = begin(first, 'long');
    await until(() => said(first).join('').length > 300);
    const { fetch, streams } = brokenFetch({ after: 6000, how: 'cut' }, { after: 3000, how: 'cut' });
    const second = open('chat', thread, { fetch });
    await second.connectAgent();
    await running;
    assert.deepEqual(said(second), said(first));
    assert.equal(streams.length, 3);
    const third = open('chat', thread);
    await third.connectAgent();
    assert.deepEqual(said(third), said(first), 'after the end too');
  });

  test('agent that was stopped connects again', async () => {
    const agent = open('chat', newId());
    const running = begin(agent, 'long').catch(() => {});
    await until(() => said(agent).join('').length > 300);
    agent.abortRun();
    await running;
    const before = said(agent).join('').length;
    await agent.connectAgent();
    assert.ok(said(agent).join('').length > before);
  });

  test('connect() of a URL that names no agent says what it needs', async () => {
    const agent = new (withConnect(agUi))({ url: 'http://127.0.0.1:1/elsewhere' }) as unknown as { connect(input: unknown): unknown };
    assert.throws(() => agent.connect({}), { code: 'url.unknown' });
  });
});

describe('useChat of TanStack AI with our connection', { skip: !binary, timeout: 480_000 }, () => {
  before(() => server.start());
  after(() => server.stop());

  async function ask(agent: string, text: string, reconnect: Parameters<typeof createConnection>[2] extends infer T ? (T extends { reconnect?: infer R } ? R : never) : never, onText?: () => Promise<void>) {
    const url = `${server.url}/v1/ag-ui/${agent}/chat?profile=tanstack`;
    const errors: unknown[] = [];
    const client = new ChatClient({ threadId: newId(), connection: createConnection(fetchServerSentEvents, url, { reconnect }), onError: (error) => void errors.push(error) });
    const parts = () => client.getMessages().slice(1).flatMap((message) => message.parts);
    const words = () => parts().flatMap((part) => (part.type === 'text' ? [part.content] : []));
    const sending = client.sendMessage(text);
    if (onText) {
      await until(() => words().join('').length > 200);
      await onText();
    }
    await sending;
    assert.deepEqual(errors, []);
    return { parts: shown(parts()), words: words() };
  }

  for (const [name, failures] of failing) {
    test(`stream ${name} is shown as if nothing had happened`, async () => {
      for (const [agent, text] of [['chat', 'long'], ['tools', 'compare Paris and Rome']] as const) {
        const undisturbed = await ask(agent, text, patient);
        const { fetch, streams } = brokenFetch(...failures);
        const disturbed = await ask(agent, text, { ...patient, fetch, stallTimeout });
        assert.deepEqual(disturbed, undisturbed);
        assert.ok(streams.length > 1, 'it reconnected');
      }
    });
  }

  test('answer is whole when the server was killed', async () => {
    const { words: [whole = ''] } = await ask('chat', 'long', patient);
    const { words } = await ask('chat', 'long', patient, restart);
    assert.equal(words.at(-1), whole);
  });
});
