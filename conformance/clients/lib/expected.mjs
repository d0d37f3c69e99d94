// What a client can show of an expectation. Where a vendor has no word for something, the nearest thing is expected
// that its messages hold, and it is written down here.

const EMPTY = { text: [], reasoning: [], tools: [], sources: [], files: [], data: [], structured: [] };

/** The last answer that `client` must show; without a client, what the journal itself holds. */
export function expected(scenario, client) {
  if (!scenario.expect) return null;
  const wanted = structuredClone({ ...EMPTY, ...scenario.expect });
  const adapt = client && FAMILIES[client.family];
  return adapt ? adapt(wanted, scenario) : wanted;
}

const FAMILIES = {};

/** Leaves out what may differ from one reading to the next: a dead attempt's text, where it cannot be taken back. */
export function settled(flat, { scenario }) {
  const { dead, begins } = scenario;
  const text = flat.text.filter((text) => !(dead && dead.startsWith(text.trimEnd())));
  // How far a stopped answer came is a matter of time.
  if (begins) {
    const odd = text.filter((text) => !begins.startsWith(text.slice(0, begins.length)));
    return { ...flat, text: odd };
  }
  return { ...flat, text };
}
