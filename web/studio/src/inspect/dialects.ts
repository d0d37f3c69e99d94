/** The wires of a run, and the pages that read them. */
export const DIALECTS = [
  ['native', 'Headwater'],
  ['ai-sdk', 'AI SDK'],
  ['ag-ui', 'AG-UI, CopilotKit, TanStack AI'],
  ['mui', 'MUI X Chat'],
  ['agents', 'agents'],
  ['kortyx', 'Kortyx'],
  ['tanstack', 'TanStack AI before 0.3'],
  ['responses', 'OpenAI Responses'],
] as const;

export type DialectName = (typeof DIALECTS)[number][0];

/** Where a run is read in a dialect; with a cursor, what comes after it. The stream ends where the run waits, if it shall. */
export function eventsPath(run: string, dialect: string, { after, until }: { after?: string | undefined; until?: 'wait' | 'end' } = {}): string {
  const query = new URLSearchParams();
  if (dialect !== 'native') query.set('dialect', dialect);
  if (after) query.set('after', after);
  if (until) query.set('until', until);
  const text = query.toString();
  return `/v1/runs/${encodeURIComponent(run)}/events${text && `?${text}`}`;
}
