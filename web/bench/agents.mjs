// The agents that are measured, as files for `headwater serve`: scripts, so that every run is the same.

const WORDS = 'the river carries what the rain gives and gives what the sea will take'.split(' ');

/** A text of so many words, each of which is a delta. */
const text = (count) => Array.from({ length: count }, (_, at) => WORDS[at % WORDS.length]).join(' ');

/** How many deltas the measured answer has. */
export const DELTAS = 1000;

const agent = (name, say, pace = 0) => ({
  name,
  models: { script: { script: { name, pace, rules: [{ say }] } } },
  workflows: { answer: { start: 'answer', nodes: { answer: { reason: { model: 'script' } } }, edges: [] } },
});

/** One answer of so many deltas, far enough apart that the server sends nearly each by itself. */
const deltas = (name, count) => agent(name, [{ text: text(count) }], 2);

/** So many tool calls with a text before each; then it runs for a minute, so that a page can attach to it. */
const tools = (count) =>
  agent('tools', [
    ...Array.from({ length: count }, (_, at) => [
      { text: text(10) },
      { tool: { name: 'lookup', id: `call-${at}`, input: { question: `number ${at}` }, output: { answer: `result ${at}` } } },
    ]).flat(),
    { delay: 60_000 },
    { text: 'done' },
  ]);

export const agentsToMeasure = [deltas('deltas', DELTAS), deltas('short', 200), tools(20)];
