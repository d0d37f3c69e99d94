// `@ai-sdk/open-responses` with the AI SDK, as its documentation uses it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { generateText, isStepCount, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { serve } from './lib.mjs';

const { base } = await serve();
const provider = createOpenResponses({ name: 'headwater', url: `${base}/responses` });
const until = (isStepCount ?? stepCountIs)(4);

const location = (asked = []) => ({
  get_location: tool({
    description: 'Where the person is.',
    inputSchema: z.object({}),
    execute: async () => {
      asked.push('get_location');
      return { city: 'Oslo' };
    },
  }),
});

test('text and reasoning are streamed', async () => {
  const result = streamText({ model: provider('chat'), prompt: 'hello' });
  let text = '';
  for await (const delta of result.textStream) text += delta;
  assert.match(text, /^\*\*Hello!\*\*/);
  assert.match(await result.reasoningText, /greeting/);
  assert.equal(await result.finishReason, 'stop');
  assert.ok((await result.usage).totalTokens > 0);
});

test('text is generated', async () => {
  const { text, reasoningText } = await generateText({ model: provider('chat'), prompt: 'hello' });
  assert.match(text, /^\*\*Hello!\*\*/);
  assert.match(reasoningText, /greeting/);
});

test('tools of the agent are its own business', async () => {
  const result = streamText({ model: provider('tools'), prompt: 'compare Paris and Rome' });
  assert.match(await result.text, /Rome is 7 degrees warmer/);
  assert.equal(await result.finishReason, 'stop');
  assert.deepEqual(await result.toolCalls, []);
});

test('a tool of the page is executed once in a stream', async () => {
  const asked = [];
  const result = streamText({ model: provider('tools'), prompt: 'where am I?', tools: location(asked), stopWhen: until });
  assert.equal(await result.text, 'You are in Oslo.');
  assert.equal((await result.steps).length, 2);
  assert.deepEqual(asked, ['get_location']);
});

test('a tool of the page is executed once without a stream', async () => {
  const asked = [];
  const prompt = 'where am I today?';
  const result = await generateText({ model: provider('tools'), prompt, tools: location(asked), stopWhen: until });
  assert.equal(result.text, 'You are in Oslo.');
  assert.deepEqual(asked, ['get_location']);
});

test('the history of the page is the conversation', async () => {
  const messages = [
    { role: 'user', content: 'a secret word is river' },
    { role: 'assistant', content: 'I will remember it.' },
    { role: 'user', content: 'what did I say?' },
  ];
  const { text } = await generateText({ model: provider('chat'), messages });
  assert.match(text, /river/);
});

test('an error is shown with its message', async () => {
  const failing = generateText({ model: provider('nobody'), prompt: 'x', maxRetries: 0 });
  await assert.rejects(failing, (error) => {
    assert.equal(error.statusCode, 404);
    assert.match(error.message, /there is no agent `nobody`/);
    return true;
  });
});

test('a run that fails is an error', async () => {
  const result = streamText({ model: provider('chat'), prompt: 'error', onError() {} });
  await result.consumeStream();
  assert.equal(await result.finishReason, 'error');
});
