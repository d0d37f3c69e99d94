import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { act, complaints, render, until } from './dom.js';
import { ChatPage } from './examples/chat.js';
import { AiSdkChat } from './examples/ai-sdk.js';
import { Onboarding } from './examples/chat-stream.js';
import { StructuredView } from './examples/structured.js';
import { TanStackChat } from './examples/tanstack.js';
import type { StreamChunk } from '@headwater/client/kortyx';
import { FakeServer } from '../../client/test/fake-server.js';
import { binary, RealServer } from '../../client/test/real-server.js';

afterEach(() => assert.deepEqual(complaints.splice(0), []));

/** Runs with another `fetch`. */
async function withFetch(fetch: unknown, action: () => Promise<void>): Promise<void> {
  const original = globalThis.fetch;
  globalThis.fetch = fetch as typeof original;
  await action().finally(() => (globalThis.fetch = original));
}

test('page that chats, shows approvals and stops', async () => {
  const kept = new Map<string, string>();
  Object.assign(globalThis, { sessionStorage: { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) } });
  const server = new FakeServer();
  await withFetch(server.fetch, async () => {
    const page = await render(<ChatPage url="http://fake" />);
    assert.equal(page.text(), '');
    assert.equal(kept.size, 1, 'the session is kept');
    await page.unmount();
  });
});

test('objects of a stream', async () => {
  let push: (chunk: StreamChunk) => void = () => {};
  const page = await render(<StructuredView subscribe={(onChunk) => (push = onChunk)} />);
  page.click();
  await act(async () => push({ type: 'structured-data', streamId: 's', dataType: 'email', kind: 'set', path: 'subject', value: 'Hi' }));
  await until(() => page.text() === '{"subject":"Hi"}');
  await page.unmount();
});

test('chat that keeps its own messages', async () => {
  const events = 'event: message.start\ndata: {"messageId":"m1","role":"assistant"}\n\nevent: message.delta\ndata: {"messageId":"m1","delta":"Welcome"}\n\nevent: done\ndata: {}\n\n';
  await withFetch(async () => new Response(events), async () => {
    const page = await render(<Onboarding api="http://fake/api/onboarding" />);
    await act(async () => page.click());
    await until(() => page.text().includes('HelloWelcome'));
    await page.unmount();
  });
});

for (const [name, Page] of [['AI SDK', AiSdkChat], ['TanStack AI', TanStackChat]] as const) {
  test(`page with the hook of ${name}, and its answer after a reload`, { skip: !binary, timeout: 120_000 }, async () => {
    const server = await new RealServer().start();
    try {
      const page = await render(<Page url={server.url} id="kept" />);
      await act(async () => page.click());
      await until(() => /I am the demo agent/.test(page.text()));
      const reloaded = await render(<Page url={server.url} id="kept" />);
      await until(() => /I am the demo agent/.test(reloaded.text()));
      await until(() => page.text().includes('to see that I remember'));
      await page.unmount();
      await reloaded.unmount();
    } finally {
      await server.stop();
    }
  });
}
