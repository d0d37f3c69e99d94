// Recorded vectors, and the list of rows where we depart from them on purpose: the files that test the Rust readers too.
//
// `$HEADWATER_VECTORS` names the folder that holds `vectors/`. Without it the tests that need them are skipped; on CI a
// file that cannot be read fails the test.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const repository = new URL('../../../', import.meta.url);

/** A recording. `any`, because there are as many shapes as files. */
export type Row = Record<string, any>;

/** The rows of `vectors/<relative>`, or `undefined` if there are no vectors. */
export function readRows(relative: string): Row[] | undefined {
  const root = process.env['HEADWATER_VECTORS'];
  if (!root) {
    console.log(`vectors: ${relative} skipped, HEADWATER_VECTORS is not set`);
    return undefined;
  }
  let text: string;
  try {
    text = readFileSync(join(root, 'vectors', relative), 'utf8');
  } catch (error) {
    assert.notEqual(process.env['CI'], 'true', `vectors: ${relative} cannot be read: ${error}`);
    console.log(`vectors: ${relative} cannot be read: ${error}`);
    return undefined;
  }
  return text.split('\n').filter((line) => line.trim()).map((line) => JSON.parse(line) as Row);
}

/** What the vendors' clients must show of our own streams, under `conformance/cases/<dialect>`. */
export function readCases(dialect: string): { name: string; body: Uint8Array; expected: Row }[] {
  const folder = new URL(`conformance/cases/${dialect}/`, repository);
  const names = readdirSync(folder).filter((name) => name.endsWith('.sse')).map((name) => name.slice(0, -'.sse'.length));
  return names.sort().map((name) => ({
    name,
    body: readFileSync(new URL(`${name}.sse`, folder)),
    expected: JSON.parse(readFileSync(new URL(`${name}.expected.json`, folder), 'utf8')) as Row,
  }));
}

interface Deviation {
  except: string[];
  reason: string;
}

/** The deviations of the Rust readers for one file, from `conformance/deviations.toml`. */
function deviations(file: string): Map<string, Deviation> {
  const text = readFileSync(new URL('conformance/deviations.toml', repository), 'utf8');
  const found = new Map<string, Deviation>();
  for (const table of text.split('[[deviation]]').slice(1)) {
    const strings = (key: string) => {
      const value = new RegExp(`^${key} = (\\[[^\\]]*\\]|"[^"\\n]*")`, 'm').exec(table)?.[1] ?? '';
      return [...value.matchAll(/"([^"]*)"/g)].map((match) => match[1] as string);
    };
    if (strings('file')[0] !== file) continue;
    for (const row of [...strings('row'), ...strings('rows')]) {
      found.set(row, { except: strings('except'), reason: strings('reason')[0] ?? '' });
    }
  }
  return found;
}

/** Judges the rows of one file and keeps the tally. */
export class Judge {
  #deviations: Map<string, Deviation>;
  #complaints: string[] = [];
  #seen = 0;
  #matched = 0;
  #deviated = 0;
  /** How many rows are left out, by reason. */
  #outOfScope = new Map<string, number>();

  /** `own` lists the rows where TypeScript departs and Rust does not, each with its reason. */
  constructor(private readonly file: string, own: Record<string, string> = {}) {
    this.#deviations = deviations(file);
    for (const [row, reason] of Object.entries(own)) this.#deviations.set(row, { except: [], reason });
  }

  /** `compare` throws if the row differs when the given fields are left out. A deviation may match: then JavaScript can do it. */
  row(name: string, compare: (except: readonly string[]) => void): void {
    this.#seen += 1;
    const deviation = this.#deviations.get(name);
    try {
      compare([]);
      this.#matched += 1;
    } catch (error) {
      if (!deviation) this.#complaints.push(`${name}: ${error instanceof Error ? error.message : error}`);
      else {
        this.#deviated += 1;
        if (deviation.except.length > 0) compare(deviation.except);
      }
    }
  }

  /** A row about something that this reader does not do, and why. */
  skip(reason: string): void {
    this.#outOfScope.set(reason, (this.#outOfScope.get(reason) ?? 0) + 1);
  }

  finish(): void {
    const left = [...this.#outOfScope.values()].reduce((sum, count) => sum + count, 0);
    const scope = left > 0 ? `, ${left} out of scope` : '';
    console.log(`vectors: ${this.file} ${this.#seen} rows, ${this.#matched} matched, ${this.#deviated} deviations${scope}`);
    for (const [reason, count] of this.#outOfScope) console.log(`vectors: ${this.file} ${count} out of scope: ${reason}`);
    assert.equal(this.#complaints.length, 0, `${this.#complaints.length} rows differ\n${this.#complaints.slice(0, 12).join('\n')}`);
    assert.ok(this.#seen > 0, `${this.file} has no row that was judged`);
  }
}

/** A value as JSON shows it: holes are null, undefined members are gone. */
export const plain = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));

/** A stream of these pieces. */
export function streamOf(...pieces: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(typeof piece === 'string' ? encoder.encode(piece) : piece);
    },
  });
}

export const fromBase64 = (pieces: string[]): Uint8Array[] => pieces.map((piece) => new Uint8Array(Buffer.from(piece, 'base64')));

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
