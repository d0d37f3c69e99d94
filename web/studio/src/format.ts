import type { Message } from '@headwater/client';

/** `240 ms`, `1.8 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.round(minutes / 1440)} days`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `now`, `5 min`, `3 h`, `12 Mar`. */
export function ago(time: string, now = Date.now()): string {
  const then = Date.parse(time);
  const minutes = Math.floor((now - then) / 60_000);
  if (Number.isNaN(minutes)) return '';
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`;
  const date = new Date(then);
  return `${date.getDate()} ${MONTHS[date.getMonth()]}`;
}

// By hand: the first use of `Intl` takes a browser some 20 ms, at the moment when a page opens.
export const count = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ',');
export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

/** The run that a message belongs to: its id ends with it. */
export const runOf = (message: string): string | undefined => /run_[\w-]+$/.exec(message)?.[0];

/** The text of a message. */
export const textOf = ({ parts }: Message): string => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');

/** One line of JSON, cut to a length. */
export function line(value: unknown, length = 120): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
