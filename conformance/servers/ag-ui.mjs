/** An AG-UI server: events of `@ag-ui/core`, written by `@ag-ui/encoder`, and a schema that holds requests to the protocol. */
import { EventType } from '@ag-ui/core';
import { RunAgentInputSchema } from '@ag-ui/core/schemas';
import { EventEncoder } from '@ag-ui/encoder';
import { answerTo, pieces, tools } from './model.mjs';

/** The events of one run. */
export async function* run({ threadId, runId, messages, resume = [] }) {
  yield { type: EventType.RUN_STARTED, threadId, runId };
  const from = messages.findLastIndex(({ role }) => role === 'user');
  const since = messages.slice(from + 1);
  const calls = since.flatMap(({ toolCalls = [] }) => toolCalls);
  const nameOf = (id) => calls.find((call) => call.id === id)?.function.name ?? 'unknown';
  const results = since.filter(({ role }) => role === 'tool').map(({ toolCallId, content }) => ({ tool: nameOf(toolCallId), output: content }));
  for (const { interruptId, payload } of resume) {
    const call = calls.find(({ id }) => `approval_${id}` === interruptId);
    if (!call) throw new Error(`unknown interrupt ${interruptId}`);
    const output = payload?.approved ? await tools[call.function.name].execute(JSON.parse(call.function.arguments)) : 'denied';
    yield { type: EventType.TOOL_CALL_RESULT, messageId: `result_${call.id}`, toolCallId: call.id, content: output, role: 'tool' };
    results.push({ tool: call.function.name, output });
  }
  const input = String(messages[from].content);
  for (;;) {
    const { text, call } = answerTo({ input, results });
    if (text) {
      const messageId = `msg_${runId}`;
      yield { type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' };
      for (const delta of pieces(text)) yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta };
      yield { type: EventType.TEXT_MESSAGE_END, messageId };
      break;
    }
    const toolCallId = `${call.id}_${runId}`;
    yield { type: EventType.TOOL_CALL_START, toolCallId, toolCallName: call.tool };
    yield { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: JSON.stringify(call.input) };
    yield { type: EventType.TOOL_CALL_END, toolCallId };
    const { needsApproval, execute } = tools[call.tool];
    if (needsApproval) {
      const interrupt = { id: `approval_${toolCallId}`, reason: 'tool_call', message: `Allow ${call.tool}?`, toolCallId };
      yield { type: EventType.RUN_FINISHED, threadId, runId, outcome: { type: 'interrupt', interrupts: [interrupt] } };
      return;
    }
    // Without a function the client executes it, and sends the output with the next run.
    if (!execute) break;
    const content = await execute(call.input);
    yield { type: EventType.TOOL_CALL_RESULT, messageId: `result_${toolCallId}`, toolCallId, content, role: 'tool' };
    results.push({ tool: call.tool, output: content });
  }
  yield { type: EventType.RUN_FINISHED, threadId, runId, outcome: { type: 'success' } };
}

export async function chat(request) {
  const input = RunAgentInputSchema.parse(await request.json());
  const encoder = new EventEncoder({ accept: 'text/event-stream' });
  const events = run(input);
  const body = new ReadableStream({
    async pull(controller) {
      const { value, done } = await events.next();
      if (done) controller.close();
      else controller.enqueue(new TextEncoder().encode(encoder.encode(value)));
    },
  });
  return new Response(body, { headers: { 'content-type': encoder.getContentType() } });
}
