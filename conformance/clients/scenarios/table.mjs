// The agent `table`: structured data that grows.

export default [
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
];
