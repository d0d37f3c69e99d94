// The agent `chat`: text, thoughts, sources, a file, data, a memory, a failure, a stop.

import { readFileSync } from 'node:fs';

const TRY = [
  '- `table` for a table in Markdown',
  '- `long` for four hundred words about a river',
  '- `slow` for a word now and then: a good time to reload the page',
  '- `error` for an answer that fails in the middle',
  '- `what did I say?` to see that I remember',
].join('\n');
const LONG = readFileSync(new URL('../../../crates/headwater-cli/src/demo/river.txt', import.meta.url), 'utf8');
const PICTURE = new URL('../../../crates/headwater-cli/src/demo/river.svg', import.meta.url);

/** What the agent offers to ask next. */
const followUps = (...questions) => [{ name: 'follow-ups', data: { questions } }];

const whole = () => ({
  sources: [
    { url: 'https://example.com/headwater', title: 'An example page' },
    { title: 'The design of Headwater' },
  ],
  files: [{ mediaType: 'image/svg+xml', url: `data:image/svg+xml;base64,${readFileSync(PICTURE).toString('base64')}` }],
  data: followUps('table', 'long', 'slow'),
});

export default [
  {
    name: 'plain text with thoughts, sources, a file and data',
    agent: 'chat',
    steps: [['send', 'hello']],
    expect: {
      text: [`**Hello!** I am the demo agent \`chat\`: a script, no model is asked. What I can show:\n\n${TRY}`],
      reasoning: ['A greeting. I say what I can do.'],
      ...whole(),
    },
  },
  {
    name: 'a long text',
    agent: 'chat',
    steps: [['send', 'something long']],
    expect: { text: [LONG], reasoning: ['They want something to read.'], data: followUps('table', 'slow', 'what did I say?') },
  },
  {
    name: 'characters of every width',
    agent: 'chat',
    steps: [['send', 'žluťoučký kůň 🐎👩‍🚀 „ok“\u2028{"a": "\\n"}']],
    expect: {
      text: [
        'You wrote 6 words:\n\n> žluťoučký kůň 🐎👩‍🚀 „ok“\u2028{"a": "\\n"}\n\n' +
          `I am a script and understand no more than that. Try\n\n${TRY}`,
      ],
      reasoning: ['I do not know this one. I repeat it, and say what else there is.'],
      ...whole(),
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
      data: followUps('table', 'long', 'slow'),
    },
  },
  {
    name: 'an answer that fails in the middle',
    agent: 'chat',
    steps: [['send', 'an error please']],
    error: 'the demo was asked to fail, and did',
    dead: { text: 'This answer begins well, and then', reasoning: 'They want to see a failure.' },
    expect: { data: followUps() },
  },
  {
    name: 'an answer that is stopped',
    agent: 'chat',
    stops: true,
    steps: [['send', 'slowly please']],
    thinks: 'They want to see it come.',
    begins: 'One word after the other, as slowly as a tired model.',
  },
];
