// The chart of docs/images: three panels of bars, a row for each client and server. It is readable on light and on dark pages.

const WIDTH = 1000;
const LABELS = 372;
const PANEL = 190;
const GAP = 14;
const ROW = 24;
const TOP = 66;

const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #24292f }
.quiet { fill: #57606a; font-size: 12px }
.head { font-weight: 600 }
.page { fill: #ffffff; stroke: #d0d7de }
.theirs { fill: #8c959f } .ours { fill: #0969da }
.theirs.tail { fill: #d0d7de } .ours.tail { fill: #a8d0ff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .quiet { fill: #9da7b3 }
  .page { fill: #0d1117; stroke: #30363d }
  .theirs { fill: #7d8590 } .ours { fill: #4493f8 }
  .theirs.tail { fill: #3d444d } .ours.tail { fill: #1f4f8f }
}`;

const escape = (text) => text.replaceAll('`', '').replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** What a panel shows of a row: the bar, and what may be longer than it. */
const panels = [
  { title: 'seconds until live again', note: 'p50, and lighter p99', value: ({ p50 }) => p50 ?? 0, tail: ({ p99 }) => p99 ?? 0, text: ({ p50, p99 }) => (p50 === undefined ? '–' : `${p50.toFixed(1)} / ${p99.toFixed(1)}`) },
  { title: 'words paid for twice', note: 'share of the words needed', value: ({ paidTwice, needed }) => (paidTwice / needed) * 100, text: ({ paidTwice, needed }) => `${Math.round((paidTwice / needed) * 100)} %` },
  { title: 'errors shown', note: 'for each conversation', value: ({ errors, conversations }) => errors / conversations, text: ({ errors, conversations }) => (errors / conversations).toFixed(1) },
];

export function chart(rows) {
  const height = TOP + rows.length * ROW + groups(rows).length * 10 + 18;
  const parts = [`<rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="6"/>`];
  for (const [at, { title, note }] of panels.entries()) {
    const x = LABELS + at * (PANEL + GAP);
    parts.push(`<text class="head" x="${x}" y="26">${title}</text><text class="quiet" x="${x}" y="44">${note}</text>`);
  }
  let y = TOP;
  for (const group of groups(rows)) {
    for (const row of group) {
      parts.push(line(row, y, rows));
      y += ROW;
    }
    y += 10;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>Chat clients on a network that cuts: each vendor's server and Headwater</title>
<style>${STYLE}</style>
${parts.join('\n')}
</svg>
`;
}

function line(row, y, rows) {
  const kind = row.file === 'headwater' ? 'ours' : 'theirs';
  const client = escape(row.name.split(' `')[0]);
  const text = `<text x="16" y="${y + 14}">${client}</text><text class="${kind === 'ours' ? 'head' : 'quiet'}" x="116" y="${y + 14}">${escape(row.server)}</text>`;
  const bars = panels.map(({ value, tail = value, text: label }, at) => {
    const x = LABELS + at * (PANEL + GAP);
    // The longest bar leaves room for its figure.
    const scale = (PANEL - 62) / Math.max(...rows.map(tail), 1e-9);
    const bar = (width, more) => `<rect class="${kind}${more}" x="${x}" y="${y + 3}" width="${Math.max(1, width * scale).toFixed(1)}" height="14" rx="2"/>`;
    return `${bar(tail(row), ' tail')}${bar(value(row), '')}<text class="quiet" x="${(x + tail(row) * scale + 6).toFixed(1)}" y="${y + 14}">${label(row)}</text>`;
  });
  return [text, ...bars].join('');
}

/** The rows of each client. */
function groups(rows) {
  const clients = [...new Set(rows.map(({ client }) => client))];
  return clients.map((client) => rows.filter((row) => row.client === client));
}
