/** TanStack AI's server: `chat()` with an adapter whose model does what its input says. */
import { chat as runChat, chatParamsFromRequestBody, toolDefinition, toServerSentEventsResponse } from '@tanstack/ai';
import { answerTo, pieces, tools as known } from './model.mjs';

const definitions = Object.entries(known).map(([name, { description, needsApproval = false, execute }]) => {
  const definition = toolDefinition({ name, description, needsApproval, inputSchema: { type: 'object' } });
  return execute ? definition.server(execute) : definition.client();
});

const textOf = (content) => (typeof content === 'string' ? content : (content ?? []).map((part) => part.content ?? part.text ?? '').join(''));

/** A provider of TanStack AI: `chatStream` gives AG-UI events. */
const adapter = {
  kind: 'text',
  name: 'script',
  model: 'script',
  async *chatStream({ messages, threadId = 'thread', runId = 'run' }) {
    const from = messages.findLastIndex(({ role }) => role === 'user');
    const since = messages.slice(from + 1);
    const calls = since.flatMap(({ toolCalls = [] }) => toolCalls);
    const nameOf = (id) => calls.find((call) => call.id === id)?.function.name ?? 'unknown';
    const unquoted = (text) => {
      try {
        const value = JSON.parse(text);
        return typeof value === 'string' ? value : text;
      } catch {
        return text;
      }
    };
    const results = since.filter(({ role }) => role === 'tool').map(({ toolCallId, content }) => ({ tool: nameOf(toolCallId), output: unquoted(textOf(content)) }));
    const { text, call } = answerTo({ input: textOf(messages[from].content), results });
    const base = { model: 'script', timestamp: Date.now() };
    const messageId = `msg_${Date.now()}_${since.length}`;
    yield { type: 'RUN_STARTED', threadId, runId, ...base };
    if (text) {
      yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...base };
      for (const delta of pieces(text)) yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta, ...base };
      yield { type: 'TEXT_MESSAGE_END', messageId, ...base };
    } else {
      const toolCallId = call.id;
      const names = { toolCallId, toolCallName: call.tool, toolName: call.tool };
      yield { type: 'TOOL_CALL_START', ...names, index: 0, ...base };
      yield { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(call.input), ...base };
      yield { type: 'TOOL_CALL_END', ...names, input: call.input, ...base };
    }
    yield { type: 'RUN_FINISHED', threadId, runId, finishReason: call ? 'tool_calls' : 'stop', ...base };
  },
  structuredOutput: async () => ({ data: {}, rawText: '{}' }),
};

export async function chat(request) {
  const { messages, threadId, runId, resume } = await chatParamsFromRequestBody(await request.json());
  const stream = runChat({ adapter, messages, tools: definitions, threadId, runId, ...(resume ? { resume } : {}) });
  return toServerSentEventsResponse(stream);
}
