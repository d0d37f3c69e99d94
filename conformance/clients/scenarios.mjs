// What is tried with every client, and what its last answer must be. The demo agents always say the same, so one
// expectation serves all clients: each is held to the parts of it that its messages can show.

import { readFileSync } from 'node:fs';

const TRY = [
  '- `table` for a table in Markdown',
  '- `long` for four hundred words',
  '- `slow` for a word now and then: a good time to reload the page',
  '- `error` for an answer that fails in the middle',
  '- `what did I say?` to see that I remember',
].join('\n');
const LONG = `Four hundred words:${Array.from({ length: 397 }, (_, at) => `${at % 20 === 0 ? '\n' : ' '}${at + 1}`).join('')}`;
const PICTURE = new URL('../../crates/headwater-cli/src/demo/river.svg', import.meta.url);

const weather = (city, celsius, sky) => ({
  toolName: 'get_weather',
  state: 'output-available',
  input: { city },
  output: { city, celsius, sky },
});
const deletion = (state, rest = {}) => ({ toolName: 'delete_file', state, input: { path: 'notes.txt' }, ...rest });
const location = { toolName: 'get_location', state: 'output-available', input: {}, output: { city: 'Oslo' } };
const whole = (words) => ({
  sources: [
    { url: 'https://example.com/headwater', title: 'An example page' },
    { title: 'The design of Headwater' },
  ],
  files: [{ mediaType: 'image/svg+xml', url: `data:image/svg+xml;base64,${readFileSync(PICTURE).toString('base64')}` }],
  data: [{ name: 'progress', data: { state: 'answered', words } }],
});
const draft = (brief, bullets, close) => ({
  dataType: 'email.compose',
  data: {
    subject: `News: ${brief}`,
    body: `Hi team,\n\nhere is what is new about ${brief}.${close}`,
    bullets,
  },
});
const BULLETS = ['Works with the page you have', 'Survives a reload', 'Starts with one command'];

/**
 * `steps` are calls of a driver. `expect` is the last answer, flattened; `error` is a part of the error that the client
 * must show; `needs` is what a client may not have.
 */
export const scenarios = [
  {
    name: 'plain text with thoughts, sources, a file and data',
    agent: 'chat',
    steps: [['send', 'hello']],
    expect: {
      text: [`**Hello!** I am the demo agent \`chat\`: a script, no model is asked. What I can show:\n\n${TRY}`],
      reasoning: ['A greeting. I say what I can do.'],
      ...whole(1),
    },
  },
  {
    name: 'a long text',
    agent: 'chat',
    steps: [['send', 'something long']],
    expect: { text: [LONG], reasoning: ['They want much text.'], data: [{ name: 'progress', data: { state: 'answered', words: 2 } }] },
  },
  {
    name: 'characters of every width',
    agent: 'chat',
    steps: [['send', 'žluťoučký kůň 🐎👩‍🚀 „ok“\u2028{"a": "\\n"}']],
    expect: {
      text: [
        'You wrote 5 words:\n\n> žluťoučký kůň 🐎👩‍🚀 „ok“\u2028{"a": "\\n"}\n\n' +
          `I am a script and understand no more than that. Try\n\n${TRY}`,
      ],
      reasoning: ['I do not know this one. I repeat it, and say what else there is.'],
      ...whole(5),
    },
  },
  {
    name: 'a second turn that knows the first',
    agent: 'chat',
    turns: 2,
    steps: [['send', 'the heron is blue'], ['send', 'what did I say?']],
    expect: {
      text: ['Before this you said:\n\n> the heron is blue'],
      reasoning: ['I look at the conversation.'],
      data: [{ name: 'progress', data: { state: 'answered', words: 4 } }],
    },
  },
  {
    name: 'a tool',
    agent: 'tools',
    steps: [['send', 'weather in Paris']],
    expect: { text: ['In Paris it is 6 °C and sunny.'], reasoning: ['One tool will do.'], tools: [weather('Paris', 6, 'sunny')] },
  },
  {
    name: 'two tools at once',
    agent: 'tools',
    steps: [['send', 'compare Paris and Rome']],
    expect: {
      text: ['In Paris it is 6 °C and sunny. In Rome it is 6 °C and sunny. Paris is as warm as Rome.'],
      reasoning: ['Several tools, all at once.'],
      tools: [weather('Paris', 6, 'sunny'), weather('Rome', 6, 'sunny')],
    },
  },
  {
    name: 'a tool that fails',
    agent: 'tools',
    steps: [['send', 'weather in Atlantis']],
    expect: {
      text: ['The tool get_weather failed: there is no weather station in Atlantis.'],
      reasoning: ['One tool will do.'],
      tools: [
        {
          toolName: 'get_weather',
          state: 'output-error',
          input: { city: 'Atlantis' },
          errorText: 'there is no weather station in Atlantis',
        },
      ],
    },
  },
  {
    name: 'a call that is allowed',
    agent: 'tools',
    needs: 'approval',
    steps: [['send', 'delete notes.txt'], ['approve', true]],
    expect: {
      text: ['I deleted notes.txt.'],
      reasoning: ['One tool will do.'],
      tools: [deletion('output-available', { output: { deleted: 'notes.txt' } })],
    },
  },
  {
    name: 'a call that is not allowed',
    agent: 'tools',
    needs: 'approval',
    steps: [['send', 'delete notes.txt'], ['approve', false]],
    expect: {
      text: ['I left notes.txt alone, as you wished.'],
      reasoning: ['One tool will do.'],
      tools: [deletion('output-denied')],
    },
  },
  {
    name: "a tool of the page's own",
    agent: 'tools',
    needs: 'client-tool',
    tools: { get_location: { city: 'Oslo' } },
    steps: [['send', 'where am I?']],
    expect: { text: ['You are in Oslo.'], reasoning: ['One tool will do.'], tools: [location] },
  },
  {
    name: 'a table that grows',
    agent: 'table',
    steps: [['send', 'planets please']],
    expect: {
      text: ['Planets: 4 rows.'],
      structured: [
        {
          dataType: 'table',
          data: {
            title: 'Planets',
            columns: ['planet', 'moons', 'year in days'],
            rows: [
              ['Mercury', 0, 88],
              ['Venus', 0, 225],
              ['Earth', 1, 365],
              ['Mars', 2, 687],
            ],
            caption: 'The four inner planets, from the sun outwards.',
          },
        },
      ],
    },
  },
  {
    name: 'a draft, and a question that is answered',
    agent: 'email',
    steps: [['send', 'the new boat'], ['answer', 'send']],
    expect: {
      text: ['Sent: News: the new boat'],
      structured: [draft('the new boat', BULLETS, '\n\nTell us what you think of it.')],
    },
  },
  {
    name: 'a draft that is revised and sent',
    agent: 'email',
    steps: [['send', 'the new boat'], ['answer', 'revise'], ['answer', 'send']],
    expect: {
      text: ['Sent: News: the new boat'],
      structured: [
        draft('the new boat', BULLETS, '\n\nTell us what you think of it.'),
        draft('the new boat', BULLETS.slice(1), ''),
      ],
    },
  },
  {
    name: 'an answer that fails in the middle',
    agent: 'chat',
    steps: [['send', 'an error please']],
    error: 'the demo was asked to fail, and did',
    expect: {
      text: ['This answer begins well, and then'],
      reasoning: ['They want to see a failure.'],
      data: [{ name: 'progress', data: { state: 'answering', words: 3 } }],
    },
  },
  {
    name: 'an answer that is stopped',
    agent: 'chat',
    stops: true,
    steps: [['send', 'slowly please']],
    begins: 'One word after the other, as slowly as a tired model.',
  },
  {
    name: 'a model that dies and another that takes over',
    agent: 'flaky',
    steps: [['send', 'go on']],
    dead: 'The first model begins to answer, gets as far as this, and',
    expect: {
      text: [
        'The first model died in the middle of its sentence. What it had said was taken back, and this is the second ' +
          'model, which answers in full. You said: go on',
      ],
    },
  },
];
