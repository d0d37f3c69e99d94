/** Paths in a box of 16 by 16, drawn as lines. */
const PATHS = {
  plus: 'M8 3v10M3 8h10',
  send: 'M8 13V3M3.5 7.5 8 3l4.5 4.5',
  stop: 'M4.5 4.5h7v7h-7z',
  copy: 'M5.5 5.5h7v7h-7zM10.5 5.5v-2h-7v7h2',
  check: 'm3.5 8.5 3 3 6-7',
  cross: 'm4 4 8 8M12 4l-8 8',
  edit: 'm3 13 .6-2.8 7-7 2.2 2.2-7 7L3 13Z',
  again: 'M12.5 6.5A5 5 0 1 0 13 9M13 3v3.5H9.5',
  fork: 'M4.5 3v10M4.5 8c5 0 7-1 7-4.5M9.5 5l2-2 2 2',
  inbox: 'M2.5 9 4.5 3.5h7l2 5.5v3.5h-11V9Zm0 0h3l1 1.5h3l1-1.5h3',
  panel: 'M2.5 3.5h11v9h-11zM9.5 3.5v9',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  chevron: 'm6 4 4 4-4 4',
  tool: 'M9.6 3.2a3.2 3.2 0 0 0-3.9 4.2L2.8 10.3a1.3 1.3 0 0 0 0 1.9l1 1a1.3 1.3 0 0 0 1.9 0l2.9-2.9a3.2 3.2 0 0 0 4.2-3.9l-2 2-2.2-.8-.8-2.2z',
  link: 'M6.5 9.5l3-3M7 4.5l1-1a3 3 0 0 1 4.5 4.5l-1 1M9 11.5l-1 1A3 3 0 0 1 3.5 8l1-1',
  file: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3',
  alert: 'M8 5v4M8 11.2v.3M8 2.2 14 13H2z',
  clock: 'M8 4.5V8l2.5 1.5M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11',
  model: 'M8 2.5l1.4 4.1L13.5 8l-4.1 1.4L8 13.5 6.6 9.4 2.5 8l4.1-1.4z',
  node: 'M3 5.5h10v5H3z',
  flag: 'M4 13.5v-11M4 3h8l-2 2.7L12 8.5H4',
  cut: 'M2.5 8h3M10.5 8h3M7 4.5l2 7',
  trash: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark of Headwater: one spring, many streams. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 60 60" width="20" height="20" fill="none" stroke="currentColor" stroke-width="6" stroke-linecap="round" aria-hidden="true">
      <path d="M6 30h16c16 0 14-18 32-18M22 30h32M22 30c16 0 14 18 32 18" />
    </svg>
  );
}
