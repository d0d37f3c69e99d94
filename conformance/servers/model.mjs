/**
 * What all servers answer: a model that does what its input says. `weather` calls a tool of the server, `delete` one that
 * needs approval, `where` one that the client executes. After a result it says what the result was.
 *
 * @param {{ input: string, results: Array<{ tool: string, output: string }> }} turn
 * @returns {{ text?: string, call?: { id: string, tool: string, input: object } }}
 */
export function answerTo({ input, results }) {
  const last = results.at(-1);
  if (last) return { text: `The ${last.tool} tool says: ${last.output}` };
  const call = (tool, argument) => ({ call: { id: `call_${tool}`, tool, input: argument } });
  if (input.includes('weather')) return call('weather', { city: 'Paris' });
  if (input.includes('delete')) return call('delete', { city: 'Rome' });
  if (input.includes('where')) return call('locate', { zone: 1 });
  if (input.includes('long')) return { text: words.join('') };
  return { text: `You said: ${input}` };
}

export const words = Array.from({ length: 200 }, (_, index) => `word${index} `);

/** Text in pieces, as a model streams it. */
export const pieces = (text) => text.match(/\S+\s*/g) ?? [text];

export const tools = {
  weather: { description: 'The weather in a city', execute: async ({ city }) => `sunny in ${city}` },
  delete: { description: 'Deletes a city', needsApproval: true, execute: async ({ city }) => `deleted ${city}` },
  locate: { description: 'Where the user is' },
};
