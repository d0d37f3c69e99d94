// Each vendor keeps messages in its own shape. Flattened, they can be compared with each other and with
// what `headwater reduce` gives:
//
//   {text: [string], reasoning: [string],
//    tools: [{toolCallId, toolName, state, input?, output?, errorText?}],
//    sources: [{sourceId, url?, title?}], files: [{mediaType, url}], data: [{name, id?, data}]}
//
// It covers the answer: all that comes after the last message of the user. Empty texts are left out.
// The states are those of the AI SDK. `input` is there once it is complete, `output` and `errorText` only in
// the state that they belong to: what a client keeps besides (partial input, the error of an earlier try)
// differs from vendor to vendor. Where a vendor keeps values as JSON text, they are parsed; a plain text stays one.

/** The flattened answer among `messages`, as `judge` gave them for `vendor`. */
export function flatten(vendor, messages) {
  const family = vendor.startsWith('ai-') ? aiSdk : vendor.startsWith('ag-ui') ? agUi : { tanstack, mui }[vendor];
  if (!family) throw new Error(`unknown vendor "${vendor}"`);
  const answer = messages.slice(messages.findLastIndex((message) => message.role === 'user') + 1);
  const flat = { text: [], reasoning: [], tools: [], sources: [], files: [], data: [] };
  family(answer, flat);
  flat.text = flat.text.filter(Boolean);
  flat.reasoning = flat.reasoning.filter(Boolean);
  return flat;
}

function aiSdk(messages, flat) {
  for (const part of messages.flatMap((message) => message.parts)) {
    if (part.type === 'dynamic-tool') flat.tools.push(tool(part));
    else if (part.type.startsWith('tool-')) flat.tools.push(tool({ ...part, toolName: part.type.slice(5) }));
    else common(part, flat);
  }
}

function mui(messages, flat) {
  for (const part of messages.flatMap((message) => message.parts)) {
    if (part.toolInvocation) flat.tools.push(tool(part.toolInvocation));
    else common(part, flat);
  }
}

/** The parts which MUI took over from the AI SDK as they are. */
function common(part, flat) {
  if (part.type === 'text') flat.text.push(part.text);
  else if (part.type === 'reasoning') flat.reasoning.push(part.text);
  else if (part.type === 'source-url' || part.type === 'source-document')
    flat.sources.push(present({ sourceId: part.sourceId, url: part.url, title: part.title }));
  else if (part.type === 'file') flat.files.push({ mediaType: part.mediaType, url: part.url });
  // MUI's client keeps what is meant to be seen once; no other does.
  else if (part.type.startsWith('data-') && !part.transient)
    flat.data.push(present({ name: part.type.slice(5), id: part.id, data: part.data }));
}

const tanstackStates = {
  'awaiting-input': 'input-streaming',
  'input-complete': 'input-available',
};

function tanstack(messages, flat) {
  const parts = messages.flatMap((message) => message.parts);
  const results = new Map(parts.filter((p) => p.type === 'tool-result').map((p) => [p.toolCallId, p]));
  for (const part of parts) {
    if (part.type === 'text') flat.text.push(part.content);
    else if (part.type === 'thinking') flat.reasoning.push(part.content);
    else if (part.type === 'tool-call') flat.tools.push(tanstackTool(part, results.get(part.id)));
  }
}

function tanstackTool(part, result) {
  let state = tanstackStates[part.state] ?? part.state;
  if (result) state = result.state === 'error' ? 'output-error' : 'output-available';
  else if (part.output !== undefined) state = 'output-available';
  return tool({
    toolCallId: part.id,
    toolName: part.name,
    state,
    input: parsed(part.arguments),
    output: result ? parsed(result.content) : part.output,
    errorText: result?.error,
  });
}

function agUi(messages, flat) {
  const results = new Map(messages.filter((m) => m.role === 'tool').map((m) => [m.toolCallId, m]));
  for (const message of messages) {
    if (message.role === 'reasoning') flat.reasoning.push(message.content);
    if (message.role === 'activity')
      flat.data.push({ name: message.activityType, id: message.id, data: message.content });
    if (message.role !== 'assistant') continue;
    flat.text.push(message.content);
    for (const call of message.toolCalls ?? []) flat.tools.push(agUiTool(call, results.get(call.id)));
  }
}

function agUiTool(call, result) {
  // The messages do not say whether the arguments are complete; that they are JSON does.
  const open = !isJson(call.function.arguments);
  let state = open ? 'input-streaming' : 'input-available';
  if (result) state = result.error === undefined ? 'output-available' : 'output-error';
  return tool({
    toolCallId: call.id,
    toolName: call.function.name,
    state,
    input: parsed(call.function.arguments),
    output: result && parsed(result.content),
    errorText: result?.error,
  });
}

function tool({ toolCallId, toolName, state, input, rawInput, output, errorText }) {
  return present({
    toolCallId,
    toolName,
    state,
    input: state === 'input-streaming' ? undefined : (input ?? rawInput),
    output: state === 'output-available' ? output : undefined,
    errorText: state === 'output-error' ? errorText : undefined,
  });
}

function parsed(text) {
  return isJson(text) ? JSON.parse(text) : text;
}

function isJson(text) {
  try {
    return typeof text === 'string' && (JSON.parse(text), true);
  } catch {
    return false;
  }
}

function present(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
