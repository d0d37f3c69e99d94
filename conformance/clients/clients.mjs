/** The clients, by the names of their files. */
export const clients = [
  'ai-5',
  'ai-6',
  'ai-7',
  'ag-ui',
  'ag-ui-0.0.58',
  'tanstack',
  'tanstack-0.2',
  'tanstack-0.2-ndjson',
  'mui',
  'kortyx',
  'agents',
  'agents-cursor',
];
