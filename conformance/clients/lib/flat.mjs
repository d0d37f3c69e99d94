// The answers of all clients in one form (see `../vendors/flatten.mjs`), so that one expectation serves them all.

import { flatten as vendors } from '../../vendors/flatten.mjs';

/** `family`: `ai-sdk`, `ag-ui`, `mui`, `tanstack`, `kortyx` or `agents`. */
export function flatten(family, messages) {
  const flat = family === 'kortyx' ? kortyx(messages) : vendors(KNOWN_AS[family], messages);
  // A call's id differs from run to run; its place and its name do not.
  for (const tool of flat.tools) delete tool.toolCallId;
  for (const source of flat.sources) delete source.sourceId;
  for (const data of flat.data) delete data.id;
  // What a question offers has ids of its own.
  for (const tool of flat.tools) if (tool.toolName === 'ask_user') tool.input = tool.input?.question ?? tool.input;
  // If a question is not part of the answer, it disappears, or stays with its answer.
  if (!['ai-sdk', 'mui'].includes(family)) flat.tools = flat.tools.filter(({ toolName }) => toolName !== 'ask_user');
  flat.data = flat.data.filter(({ name }) => name !== 'interrupt');
  return { structured: family === 'tanstack' ? objects(flat) : [], ...flat };
}

/** The objects of the demo agents, which a TanStack page knows as calls of tools of these names. */
const DATA_TYPES = ['email.compose', 'table'];

function objects(flat) {
  const found = flat.tools.filter(({ toolName }) => DATA_TYPES.includes(toolName));
  flat.tools = flat.tools.filter((tool) => !found.includes(tool));
  return found.map(({ toolName, output }) => ({ dataType: toolName, data: output }));
}

/** The answers to everything that was said, one by one. */
export function answers(family, messages) {
  const said = messages.flatMap(({ role, metadata }, at) => (role === 'user' && !metadata?.resume ? [at] : []));
  return said.map((_, turn) => flatten(family, messages.slice(0, said[turn + 1])));
}

/** The agents contract keeps the parts of the AI SDK. */
const KNOWN_AS = { 'ai-sdk': 'ai-7', agents: 'ai-7', 'ag-ui': 'ag-ui', mui: 'mui', tanstack: 'tanstack' };

function kortyx(messages) {
  const flat = { text: [], reasoning: [], tools: [], sources: [], files: [], data: [], structured: [] };
  // The answer to a question is a message too, but no new turn.
  const said = messages.findLastIndex((message) => message.role === 'user' && !message.metadata?.resume);
  for (const piece of messages.slice(said + 1).flatMap((message) => message.pieces ?? [])) {
    if (piece.type === 'text' && piece.text) flat.text.push(piece.text);
    if (piece.type === 'structured') flat.structured.push({ dataType: piece.state.dataType, data: piece.state.data });
  }
  return flat;
}
