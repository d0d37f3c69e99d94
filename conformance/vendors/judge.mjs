// Runs one response body through a vendor's own client, unmodified, and says what its user would see.
//
//   node judge.mjs <vendor> < body      prints {vendor, ok, error, messages, warnings} as one line of JSON
//
// `ok` is the vendor's opinion, not ours: several clients take a cut stream for a complete one.
// `warnings` is what the client wrote to the console, or left unhandled, while it read.

import { pathToFileURL } from 'node:url';
import { aiSdk } from './judges/ai-sdk.mjs';
import { tanstack } from './judges/tanstack.mjs';
import { mui } from './judges/mui.mjs';
import { agUi } from './judges/ag-ui.mjs';
import { describe } from './judges/describe.mjs';

/** A judge takes a `fetch` that answers with the body, and gives `{error, messages}`. */
const judges = {
  'ai-5': aiSdk('ai-v5'),
  'ai-6': aiSdk('ai-v6'),
  'ai-7': aiSdk('ai'),
  tanstack,
  mui,
  'ag-ui': agUi('@ag-ui/client'),
  'ag-ui-0.0.58': agUi('@ag-ui/client-0.0.58'),
};

/** The names that `judge` takes. */
export const vendors = Object.keys(judges);

/** Which vendors read a dialect of ours. */
export const vendorsOf = {
  'ai-sdk': ['ai-5', 'ai-6', 'ai-7'],
  tanstack: ['tanstack'],
  mui: ['mui'],
  'ag-ui': ['ag-ui', 'ag-ui-0.0.58'],
};

// Console and unhandled rejections belong to the whole process, so judges take turns.
let turn = Promise.resolve();

/**
 * Judges `body` (bytes or text). `pieceSize` cuts it into network reads of that many bytes.
 */
export function judge(vendor, body, { pieceSize } = {}) {
  const run = judges[vendor];
  if (!run) throw new Error(`unknown vendor "${vendor}"; known: ${vendors.join(', ')}`);
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const verdict = turn.then(async () => {
    const warnings = [];
    const release = capture(warnings);
    try {
      const { error, messages } = await run(answerWith(bytes, pieceSize));
      // Unhandled rejections are reported one turn of the event loop later.
      await new Promise((resolve) => setImmediate(resolve));
      return { vendor, ok: error === null, error, messages: plain(messages), warnings };
    } catch (thrown) {
      return { vendor, ok: false, error: describe(thrown), messages: [], warnings };
    } finally {
      release();
    }
  });
  turn = verdict.catch(() => {});
  return verdict;
}

function answerWith(bytes, pieceSize = bytes.length || 1) {
  return async () => {
    let at = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.slice(at, (at += pieceSize)));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
}

function capture(warnings) {
  const note = (...words) => warnings.push(words.map(text).join(' '));
  const unhandled = (reason) => note('unhandled rejection:', reason);
  const kept = { warn: console.warn, error: console.error, log: console.log, debug: console.debug };
  Object.assign(console, { warn: note, error: note, log: () => {}, debug: () => {} });
  process.on('unhandledRejection', unhandled);
  return () => {
    Object.assign(console, kept);
    process.off('unhandledRejection', unhandled);
  };
}

function text(word) {
  if (typeof word === 'string') return word;
  if (word instanceof Error) return describe(word);
  return JSON.stringify(word) ?? String(word);
}

/** What JSON keeps of it: members that are `undefined` vanish, dates become text. */
function plain(value) {
  return JSON.parse(JSON.stringify(value));
}

async function main([vendor]) {
  if (!vendors.includes(vendor)) {
    console.error(`usage: node judge.mjs <${vendors.join('|')}> < body`);
    process.exit(2);
  }
  const pieces = [];
  for await (const piece of process.stdin) pieces.push(piece);
  const verdict = await judge(vendor, Buffer.concat(pieces));
  // Some clients leave timers behind: the verdict is all that was asked for.
  process.stdout.write(`${JSON.stringify(verdict)}\n`, () => process.exit(verdict.ok ? 0 : 1));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.slice(2));
