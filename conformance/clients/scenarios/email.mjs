// The agent `email`: a structured draft, and a question before it is sent.

const draft = (brief, bullets, close) => ({
  dataType: 'email.compose',
  data: {
    subject: `News: ${brief}`,
    body: `Hi team,\n\nhere is what is new about ${brief}.${close}`,
    bullets,
  },
});
const BULLETS = ['Works with the page you have', 'Survives a reload', 'Starts with one command'];
const QUESTION = 'Send “News: the new boat”?';

export default [
  {
    name: 'a draft, and a question that is answered',
    agent: 'email',
    steps: [['send', 'the new boat'], ['answer', 'send']],
    questions: [[QUESTION, 'send']],
    expect: {
      text: ['Sent: News: the new boat'],
      structured: [draft('the new boat', BULLETS, '\n\nTell us what you think of it.')],
    },
  },
  {
    name: 'a draft that is revised and sent',
    agent: 'email',
    steps: [['send', 'the new boat'], ['answer', 'revise'], ['answer', 'send']],
    questions: [[QUESTION, 'revise'], [QUESTION, 'send']],
    expect: {
      text: ['Sent: News: the new boat'],
      structured: [
        draft('the new boat', BULLETS, '\n\nTell us what you think of it.'),
        draft('the new boat', BULLETS.slice(1), ''),
      ],
    },
  },
];
