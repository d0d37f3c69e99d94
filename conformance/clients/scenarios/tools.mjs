// The agent `tools`: tools of the server, one that must be allowed, one of the page's own.

const weather = (city, celsius, sky) => ({
  toolName: 'get_weather',
  state: 'output-available',
  input: { city },
  output: { city, celsius, sky },
});
const deletion = (state, rest = {}) => ({ toolName: 'delete_file', state, input: { path: 'notes.txt' }, ...rest });
const location = { toolName: 'get_location', state: 'output-available', input: {}, output: { city: 'Oslo' } };

export default [
  {
    name: 'a tool',
    agent: 'tools',
    steps: [['send', 'weather in Paris']],
    expect: { text: ['In Paris it is 19 °C and rainy.'], reasoning: ['One tool will do.'], tools: [weather('Paris', 19, 'rainy')] },
  },
  {
    name: 'two tools at once',
    agent: 'tools',
    steps: [['send', 'compare Paris and Rome']],
    expect: {
      text: ['In Paris it is 19 °C and rainy. In Rome it is 26 °C and cloudy. Rome is 7 degrees warmer than Paris.'],
      reasoning: ['Several tools, all at once.'],
      tools: [weather('Paris', 19, 'rainy'), weather('Rome', 26, 'cloudy')],
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
    name: 'tools of every kind in one step',
    agent: 'tools',
    needs: 'everything',
    tools: { get_location: { city: 'Oslo' } },
    steps: [['send', 'everything'], ['approve', true]],
    expect: {
      text: [
        'In Paris it is 19 °C and rainy. In Rome it is 26 °C and cloudy. I deleted notes.txt. You are in Oslo. ' +
          'Rome is 7 degrees warmer than Paris.',
      ],
      reasoning: ['Several tools, all at once.'],
      tools: [
        weather('Paris', 19, 'rainy'),
        weather('Rome', 26, 'cloudy'),
        deletion('output-available', { output: { deleted: 'notes.txt' } }),
        location,
      ],
    },
  },
];
