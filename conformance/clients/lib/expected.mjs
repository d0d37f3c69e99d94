// What a client can show of an expectation. Where a vendor has no word for something, the nearest thing is expected
// that its messages hold, and it is written down here.

const EMPTY = { text: [], reasoning: [], tools: [], sources: [], files: [], data: [], structured: [] };

/** The last answer that `client` must show; without a client, what the journal itself holds. */
export function expected(scenario, client) {
  if (!scenario.expect) return null;
  const wanted = structuredClone({ ...EMPTY, ...scenario.expect });
  wanted.questions = scenario.questions ?? [];
  const adapt = client && (FAMILIES[client.name.replace('-ndjson', '')] ?? FAMILIES[client.family]);
  const shown = adapt ? adapt(wanted) : wanted;
  delete shown.questions;
  return shown;
}

/** What takes the place of what a family's messages cannot say. */
const FAMILIES = {
  // A result has no place for an error, and a denial is one.
  'ag-ui': (wanted) => outputs(wanted, (error) => error, 'The call was denied.'),
  'tanstack-0.2': (wanted) => outputs(wanted, (error) => ({ error }), { error: 'the call was denied' }),
  tanstack: (wanted) => outputs(wanted, (error) => error, 'The call was denied.'),
  // An object is data that is replaced while it grows, and a question is a call of a tool of the page.
  'ai-sdk': parts,
  mui: parts,
  // The contract has sources on the web only, and an object is data of its type.
  agents: ({ structured, data, sources, ...wanted }) => ({
    ...wanted,
    sources: sources.filter(({ url }) => url),
    data: [...data, ...structured.map(({ dataType, data }) => ({ name: dataType, data }))],
    structured: [],
  }),
};

function parts({ structured, questions, ...wanted }) {
  const asked = questions.map(([input, output]) => ({ toolName: 'ask_user', state: 'output-available', input, output }));
  const data = structured.map(({ dataType, data }) => ({ name: dataType, data }));
  return { ...wanted, tools: [...wanted.tools, ...asked], data: [...wanted.data, ...data], structured: [] };
}

function outputs(wanted, failed, denied) {
  wanted.tools = wanted.tools.map(({ errorText, ...tool }) => {
    if (tool.state === 'output-error') return { ...tool, state: 'output-available', output: failed(errorText) };
    return tool.state === 'output-denied' ? { ...tool, state: 'output-available', output: denied } : tool;
  });
  return wanted;
}

/** Leaves out content that may differ between reads: the text of a failed attempt that cannot be retracted. */
export function settled(flat, { scenario, client }) {
  const { dead = {}, begins } = scenario;
  const [live = ''] = scenario.expect?.text ?? [];
  const alive = (key) => (text) => {
    // If a client has only one text, the next attempt continues in it.
    const before = text.endsWith(live) ? text.slice(0, text.length - live.length) : '';
    return key === 'text' && before && dead.text?.startsWith(before.trimEnd()) ? live : text;
  };
  const said = (key) => flat[key].map(alive(key)).filter((text) => !dead[key]?.startsWith(text.trimEnd()));
  const text = said('text');
  // How far a stopped answer came is a matter of time.
  if (begins) {
    const odd = text.filter((text) => !begins.startsWith(text.slice(0, begins.length)));
    return { ...flat, text: odd, reasoning: flat.reasoning.filter((thought) => thought !== scenario.thinks) };
  }
  const settledFlat = { ...flat, text, reasoning: said('reasoning') };
  // TanStack 0.2 gets the server's calls after the requests to the page.
  if (client?.dialect === 'tanstack') {
    const place = ({ toolName, input }) => `${toolName} ${JSON.stringify(input)}`;
    return { ...settledFlat, tools: flat.tools.toSorted((a, b) => place(a).localeCompare(place(b))) };
  }
  // TanStack only sees a failed call in its result; a snapshot of the messages has its text.
  return client?.name === 'tanstack' ? outputs(settledFlat, (error) => error) : settledFlat;
}

/**
 * Messages without what only the page that asked knows (older clients of the AI SDK cannot receive a decision), and
 * without a tool's title and metadata, which MUI only shows for complete messages.
 */
export function settledMessages(messages) {
  return JSON.parse(JSON.stringify(messages), (key, value) => {
    if (key === 'approval') return undefined;
    if (key === 'toolInvocation') {
      delete value.title;
      delete value.callProviderMetadata;
    }
    return value;
  });
}
