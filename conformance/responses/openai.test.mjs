// npm `openai` as its documentation uses it: only the base URL, the key and the model are other ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { serve, settled } from './lib.mjs';

const { server, base } = await serve();
const client = new OpenAI({ baseURL: base, apiKey: 'none' });

const tools = [
  {
    type: 'function',
    name: 'get_location',
    description: 'Where the person is.',
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
    strict: true,
  },
];

async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Numbers without a gap, the response at both ends, and every item added before it is done. */
function wellFormed(events) {
  events.forEach((event, number) => assert.equal(event.sequence_number, number));
  assert.equal(events[0].type, 'response.created');
  assert.equal(events[1].type, 'response.in_progress');
  const { response } = events.at(-1);
  assert.equal(response.id, events[0].response.id);
  return response;
}

test('a response is text', async () => {
  const response = await client.responses.create({ model: 'chat', input: 'hello' });
  assert.equal(response.status, 'completed');
  assert.match(response.output_text, /^\*\*Hello!\*\*/);
  assert.equal(response.model, 'chat');
  assert.ok(response.usage.total_tokens > 0);
  assert.deepEqual((await client.responses.retrieve(response.id)).output, response.output);
});

for (const [model, input] of [
  ['chat', 'hello'],
  ['chat', 'table'],
  ['tools', 'compare Paris and Rome'],
  ['tools', 'weather in Atlantis'],
  ['tools', 'delete notes.txt'],
  ['table', 'rivers'],
  ['email', 'the launch'],
  ['flaky', 'hello'],
]) {
  test(`the helper follows ${model}: ${input}`, async () => {
    const stream = client.responses.stream({ model, input });
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => (text += delta));
    wellFormed(await collect(stream));
    const final = await stream.finalResponse();
    const kept = await client.responses.retrieve(final.id);
    assert.deepEqual(final.output.map(({ id }) => id), kept.output.map(({ id }) => id));
    assert.equal(final.output_text, kept.output_text);
    // What a failed attempt wrote was streamed, and does not count.
    if (model === 'flaky') assert.ok(text.length > final.output_text.length && text.endsWith(final.output_text));
    else assert.equal(text, final.output_text);
  });
}

test('a failed run is a failed response', async () => {
  const events = await collect(await client.responses.create({ model: 'chat', input: 'error', stream: true }));
  const response = wellFormed(events);
  assert.equal(events.at(-1).type, 'response.failed');
  assert.equal(response.status, 'failed');
  assert.ok(response.error.code && response.error.message);
});

test('a stream that was cut continues after its last event', async () => {
  const whole = await collect(await client.responses.create({ model: 'chat', input: 'hello', stream: true }));
  const { id } = whole[0].response;
  for (let last = 0; last < whole.length; last += 1) {
    const rest = await collect(await client.responses.retrieve(id, { stream: true, starting_after: last }));
    assert.deepEqual(rest, whole.slice(last + 1));
  }
  assert.deepEqual(await collect(await client.responses.retrieve(id, { stream: true })), whole);
});

test('a client that leaves in the middle finds the rest', async () => {
  const stream = await client.responses.create({ model: 'chat', input: 'long', stream: true });
  const read = [];
  for await (const event of stream) {
    read.push(event);
    if (read.length === 40) break;
  }
  const { id } = read[0].response;
  read.push(...(await collect(await client.responses.retrieve(id, { stream: true, starting_after: 39 }))));
  assert.equal(wellFormed(read).status, 'completed');
  const deltas = read.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta);
  assert.equal(deltas.join(''), (await client.responses.retrieve(id)).output_text);
});

test('the helper continues after an event', async () => {
  const { id } = await client.responses.create({ model: 'chat', input: 'hello' });
  const stream = client.responses.stream({ response_id: id, starting_after: 10 });
  const events = await collect(stream);
  assert.equal(events[0].sequence_number, 11);
  assert.match((await stream.finalResponse()).output_text, /^\*\*Hello!\*\*/);
});

test('a response in the background is polled', async () => {
  const begun = await client.responses.create({ model: 'chat', input: 'long', background: true });
  assert.ok(['queued', 'in_progress'].includes(begun.status), begun.status);
  const response = await settled(client, begun.id);
  assert.equal(response.status, 'completed');
  assert.ok(response.output_text.length > 1_000);
});

test('a stream in the background is resumed', async () => {
  const stream = await client.responses.create({ model: 'chat', input: 'long', background: true, stream: true });
  let [id, cursor] = [null, null];
  for await (const event of stream) {
    if (event.type === 'response.created') id = event.response.id;
    cursor = event.sequence_number;
    if (cursor === 10) break;
  }
  const rest = await collect(await client.responses.retrieve(id, { stream: true, starting_after: cursor }));
  assert.equal(rest[0].sequence_number, 11);
  assert.equal(rest.at(-1).type, 'response.completed');
});

test('a response is cancelled', async () => {
  const { id } = await client.responses.create({ model: 'chat', input: 'long', background: true });
  const stream = collect(await client.responses.retrieve(id, { stream: true }));
  assert.equal((await client.responses.cancel(id)).status, 'cancelled');
  assert.equal((await client.responses.retrieve(id)).status, 'cancelled');
  assert.equal((await client.responses.cancel(id)).status, 'cancelled');
  assert.equal((await stream).at(-1).response.status, 'cancelled');
});

test('a conversation continues from a response, and branches', async () => {
  const ask = (previous, input) => client.responses.create({ model: 'chat', previous_response_id: previous?.id, input });
  const first = await ask(null, 'hello');
  const second = await ask(first, 'table');
  const known = await ask(second, 'what did I say?');
  assert.match(known.output_text, /> table/);
  const other = await ask(first, 'what did I say?');
  assert.match(other.output_text, /hello/);
  assert.doesNotMatch(other.output_text, /table/);
  const further = await ask(second, 'what did I say?');
  assert.equal(further.output_text, known.output_text);
});

test('a conversation has a name', async () => {
  const conversation = 'conv_judge';
  await client.responses.create({ model: 'chat', conversation, input: 'hello' });
  const response = await client.responses.create({ model: 'chat', conversation: { id: conversation }, input: 'what did I say?' });
  assert.match(response.output_text, /> hello/);
  assert.equal(response.conversation.id, conversation);
});

/** The loop of the guide to function calling. */
async function callFunctions(first, next) {
  const response = await first();
  const calls = response.output.filter(({ type }) => type === 'function_call');
  assert.equal(calls.length, 1);
  assert.deepEqual([calls[0].name, JSON.parse(calls[0].arguments)], ['get_location', {}]);
  const output = JSON.stringify({ city: 'Oslo' });
  const answered = await next(response, { type: 'function_call_output', call_id: calls[0].call_id, output });
  assert.equal(answered.output_text, 'You are in Oslo.');
  assert.notEqual(answered.id, response.id);
  assert.equal((await client.responses.retrieve(response.id)).output.at(-1).type, 'function_call');
}

test('a function is called, and the conversation continues from the response', () =>
  callFunctions(
    () => client.responses.create({ model: 'tools', input: 'where am I?', tools }),
    (previous, output) =>
      client.responses.create({ model: 'tools', previous_response_id: previous.id, input: [output], tools }),
  ));

test('a function is called, and the client sends all items', () => {
  const input = [{ role: 'user', content: 'where am I, again?' }];
  return callFunctions(
    () => client.responses.create({ model: 'tools', input, tools }),
    (previous, output) =>
      client.responses.create({ model: 'tools', input: [...input, ...previous.output, output], tools }),
  );
});

test('a function is called in a stream', () =>
  callFunctions(
    async () => {
      const stream = client.responses.stream({ model: 'tools', input: 'where am I?', tools });
      const done = [];
      stream.on('response.function_call_arguments.done', (event) => done.push(event));
      const response = await stream.finalResponse();
      assert.deepEqual(done.map(({ name }) => name), ['get_location']);
      return response;
    },
    (previous, output) =>
      client.responses.stream({ model: 'tools', previous_response_id: previous.id, input: [output], tools }).finalResponse(),
  ));

for (const approve of [true, false]) {
  test(`a call is ${approve ? 'approved' : 'refused'}`, async () => {
    const asked = await client.responses.create({ model: 'tools', input: 'delete notes.txt' });
    const request = asked.output.at(-1);
    assert.deepEqual([request.type, request.name], ['mcp_approval_request', 'delete_file']);
    const response = await client.responses.create({
      model: 'tools',
      previous_response_id: asked.id,
      input: [{ type: 'mcp_approval_response', approval_request_id: request.id, approve }],
    });
    const call = response.output.find(({ type }) => type === 'mcp_call');
    assert.equal(call.approval_request_id, request.id);
    assert.equal(call.status, approve ? 'completed' : 'failed');
    assert.match(response.output_text, approve ? /I deleted notes\.txt/ : /./);
  });
}

test('a question is a call of ask_user', async () => {
  const asked = await client.responses.create({ model: 'email', input: 'the launch' });
  const call = asked.output.at(-1);
  assert.equal(call.name, 'ask_user');
  const { options } = JSON.parse(call.arguments);
  const input = [{ type: 'function_call_output', call_id: call.call_id, output: options[0].id }];
  const response = await client.responses.create({ model: 'email', previous_response_id: asked.id, input });
  assert.equal(response.status, 'completed');
  assert.ok(response.output.some(({ type }) => type === 'message'));
});

test('an answer has the form that the client wants, and calls its tools', async () => {
  const { base } = await serve({ agents: [fileURLToPath(new URL('compliance.yaml', import.meta.url))] });
  const client = new OpenAI({ baseURL: base, apiKey: 'none' });
  const Event = z.object({ name: z.string(), participants: z.array(z.string()) });
  const text = { format: zodTextFormat(Event, 'event') };
  const parsed = await client.responses.parse({ model: 'o1-script', input: 'Alice and Bob go to a science fair.', text });
  assert.deepEqual(parsed.output_parsed, { name: 'science fair', participants: ['Alice', 'Bob'] });
  const weather = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} }, strict: false };
  const called = await client.responses.create({ model: 'o1-script', input: 'How is the weather?', tools: [weather] });
  const call = called.output.find(({ type }) => type === 'function_call');
  assert.equal(call.name, 'get_weather');
  const output = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' };
  const answered = await client.responses.create({ model: 'o1-script', previous_response_id: called.id, input: [output], tools: [weather] });
  assert.equal(answered.output_text, 'It is sunny.');
});

test('errors are those of the client', async () => {
  await assert.rejects(client.responses.create({ model: 'nobody', input: 'x' }), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.deepEqual([error.code, error.param], ['agent.unknown', 'model']);
    assert.match(error.message, /`chat`, `email`/);
    return true;
  });
  const format = { type: 'json_schema', name: 'x', schema: { type: 'no such type' } };
  await assert.rejects(client.responses.create({ model: 'chat', input: 'x', text: { format } }), OpenAI.UnprocessableEntityError);
  await assert.rejects(client.responses.retrieve('resp_run_never.0'), OpenAI.NotFoundError);
  const previous_response_id = 'resp_run_never.0';
  await assert.rejects(client.responses.create({ model: 'chat', input: 'x', previous_response_id }), OpenAI.NotFoundError);
});

test('a response survives its server', async () => {
  const { id } = await client.responses.create({ model: 'chat', input: 'slow', background: true });
  const read = [];
  let killed = null;
  for (let tries = 0; read.at(-1)?.type !== 'response.completed' && tries < 50; tries += 1) {
    const after = read.at(-1)?.sequence_number;
    try {
      const stream = await client.responses.retrieve(id, { stream: true, ...(read.length && { starting_after: after }) });
      for await (const event of stream) {
        read.push(event);
        if (read.length === 12) killed = server.restart();
      }
    } catch {
      await killed;
    }
  }
  assert.ok(killed, 'the server was killed in the middle');
  read.forEach((event, number) => assert.equal(event.sequence_number, number));
  const response = await client.responses.retrieve(id);
  assert.equal(response.status, 'completed');
  assert.deepEqual(read.at(-1).response.output, response.output);
});
