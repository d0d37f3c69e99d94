// What the journal of a run has, read without the page: the run's stream, reduced by the command line.

import { reduce } from '../../clients/lib/reduce.mjs';

/** The state of a run that has ended. */
export async function journal({ base, binary }, run) {
  const response = await fetch(`${base}/v1/runs/${run}/events?until=end`);
  if (!response.ok) throw new Error(`GET the events of ${run}: ${response.status} ${await response.text()}`);
  return reduce(binary, 'native', await response.text());
}

/** A text in Markdown as it reads without its marks. */
export function plain(markdown) {
  const lines = markdown.split('\n').filter((line) => !/^\|[-|]+\|$/.test(line));
  const words = lines.map((line) => line.replace(/^(- |> ?)/, '').replaceAll('|', ' '));
  return words.join(' ').replaceAll('**', '').replaceAll('`', '').replace(/\s+/g, ' ').trim();
}
