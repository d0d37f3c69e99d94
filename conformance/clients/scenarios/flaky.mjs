// The agent `flaky`: a model that dies in the middle, and another that takes over.

export default [
  {
    name: 'a model that dies and another that takes over',
    agent: 'flaky',
    steps: [['send', 'continue']],
    dead: { text: 'The first model begins to answer, gets as far as this, and' },
    expect: {
      text: [
        'The first model died in the middle of its sentence. Its text was retracted, and this is the second ' +
          'model, which answers in full. You said: continue',
      ],
    },
  },
];
