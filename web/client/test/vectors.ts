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

/** What `conformance/deviations.toml` says of one row of a recording. */
interface Listing {
  /** `deviation`: the readers differ on purpose. The others are not compared at all. */
  kind: 'deviation' | 'out_of_scope' | 'named_by_lint';
  /** The fields of a deviation that differ; all others must match. */
  except: string[];
}

/** The rows of one file that the Rust readers do not reproduce. No other may differ here. */
function readListings(file: string): Map<string, Listing> {
  const text = readFileSync(new URL('conformance/deviations.toml', repository), 'utf8');
  const found = new Map<string, Listing>();
  for (const [, kind, table] of text.matchAll(/^\[\[(\w+)\]\]$(.*?)(?=^\[\[|$(?![^]))/gms)) {
    const strings = (key: string) => {
      const value = new RegExp(`^${key} = (\\[[^\\]]*\\]|"[^"\\n]*")`, 'm').exec(table as string)?.[1] ?? '';
      return [...value.matchAll(/"([^"]*)"/g)].map((match) => match[1] as string);
    };
    if (strings('file')[0] !== file) continue;
    for (const row of [...strings('row'), ...strings('rows')]) found.set(row, { kind: kind as Listing['kind'], except: strings('except') });
  }
  return found;
}

/**
 * Compares every row of a file. `compare` throws if a row differs when the given fields are left out.
 *
 * What may differ or be left out is the list of the Rust readers, and nothing else: a row that they pass must pass here. A
 * deviation of theirs may match.
 */
export async function judgeRows(file: string, nameOf: (row: Row, index: number) => string, compare: (row: Row, except: readonly string[]) => unknown): Promise<void> {
  const rows = readRows(file);
  if (!rows) return;
  const listings = readListings(file);
  const complaints: string[] = [];
  const tally = { matched: 0, deviated: 0, left: 0 };
  for (const [index, row] of rows.entries()) {
    const name = nameOf(row, index);
    const listing = listings.get(name);
    listings.delete(name);
    if (listing && listing.kind !== 'deviation') {
      tally.left += 1;
      continue;
    }
    try {
      await compare(row, []);
      tally.matched += 1;
    } catch (error) {
      if (!listing) complaints.push(`${name}: ${error instanceof Error ? error.message : error}`);
      else {
        tally.deviated += 1;
        if (listing.except.length > 0) await compare(row, listing.except);
      }
    }
  }
  const judged = tally.matched + tally.deviated + complaints.length;
  console.log(`vectors: ${file} ${judged} rows, ${tally.matched} matched, ${tally.deviated} deviations${tally.left > 0 ? `, ${tally.left} out of scope` : ''}`);
  assert.equal(complaints.length, 0, `${complaints.length} rows differ\n${complaints.slice(0, 12).join('\n')}`);
  assert.deepEqual([...listings.keys()], [], `${file} has no such rows`);
  assert.ok(judged > 0, `${file} has no row that was judged`);
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
