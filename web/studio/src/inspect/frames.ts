// The frames of a stream as text, and which of them a record became.

import { HeadwaterError, type NativeRecord } from '@headwater/client';
import { openResponse } from '../api';
import { eventsPath } from './dialects';

/** What is done with frames that arrived together; `false` ends the reading. */
type OnFrames = (frames: string[], bytes: number) => boolean | void | Promise<boolean | void>;

/** Reads a stream until it ends, or `onFrames` returns false. A long run is read in a few hundred pieces, not record by record. */
export async function readFrames(path: string, signal: AbortSignal, onFrames: OnFrames): Promise<void> {
  const response = await openResponse(path, { signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  try {
    for (let rest = ''; ; ) {
      const { value, done } = await reader.read();
      const frames = (rest + decoder.decode(value, { stream: !done })).split('\n\n');
      rest = frames.pop() ?? '';
      if (done && rest.trim()) frames.push(rest);
      const isEnough = (await onFrames(frames, value?.length ?? 0)) === false;
      if (done || isEnough) return;
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

export const asProblem = (error: unknown): HeadwaterError =>
  error instanceof HeadwaterError ? error : new HeadwaterError('network', 'The connection was lost.');

/** The record in a frame of the native wire; none in a comment. */
export function recordOf(frame: string): NativeRecord | undefined {
  const at = frame.indexOf('data: {');
  // Not a regular expression: this is done for every record of a long run.
  return at === 0 || frame[at - 1] === '\n' ? (JSON.parse(frame.slice(at + 6)) as NativeRecord) : undefined;
}

/** The cursor of a frame: a reader that sends it back continues after the frame. */
export const cursorOf = (frame: string | undefined): string | undefined => /^id: ?(.+)$/m.exec(frame ?? '')?.[1];

/** A comment keeps a connection open and belongs to no record. */
export const isComment = (frame: string): boolean => frame.split('\n').every((row) => row.startsWith(':') || row === '');

/**
 * The number of the record that a frame of another dialect comes from, if the dialect sends cursors. Only the native wire has the
 * number as a field. A cursor is opaque to other clients; this page is served by the server that made it, so it may look inside:
 * it begins with the epoch and the number of the record.
 */
export function seqOf(frame: string): number | undefined {
  const cursor = cursorOf(frame);
  if (!cursor) return undefined;
  try {
    const bytes = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'));
    const numbers: number[] = [];
    for (let at = 0, number = 0, place = 1; numbers.length < 2 && at < bytes.length; at += 1) {
      const byte = bytes.charCodeAt(at);
      number += (byte & 127) * place;
      place *= 128;
      if (byte < 128) {
        numbers.push(number);
        [number, place] = [0, 1];
      }
    }
    return numbers[1];
  } catch {
    return undefined;
  }
}

/** How many frames are read before two streams are compared, and how many of them must be the same. */
const ENOUGH = 160;
const SAME = 60;

/** The frames that a record became. Deltas that are read together are one frame: then it is a part of it. */
export interface Became {
  frames: string[];
  isPart: boolean;
}

/**
 * The frames that a record became in a dialect: those that a reader gets after the record before it, and does not get after
 * the record itself. Both streams end in the same frames.
 */
export async function framesOfRecord(run: string, dialect: string, record: NativeRecord, before: string | undefined, own: string, signal: AbortSignal): Promise<Became> {
  const { seq } = record;
  const some = async (after: string | undefined, isEnough: (frames: string[]) => boolean) => {
    const frames: string[] = [];
    await readFrames(eventsPath(run, dialect, { after, until: 'wait' }), signal, (more) => {
      frames.push(...more.filter((frame) => !isComment(frame)));
      return frames.length < ENOUGH && !isEnough(frames);
    });
    return frames;
  };
  const from = await some(before, (frames) => (seqOf(frames.at(-1) ?? '') ?? 0) > seq);
  const hasCursors = from.some((frame) => seqOf(frame) !== undefined);
  const known = hasCursors ? from.filter((frame) => (seqOf(frame) ?? Infinity) <= seq) : [];
  if (known.length > 0) return { frames: known, isPart: false };
  const after = await some(own, (frames) => hasCursors && frames.length > 0);
  const count = hasCursors ? 0 : placeOf(after.slice(0, SAME), from);
  if (count > 0) return { frames: from.slice(0, count), isPart: false };
  const isPart = hasDelta(from[0], record) && from[0] !== after[0];
  return { frames: isPart ? from.slice(0, 1) : [], isPart };
}

/** Where the frames begin within others, or -1. A list that is cut off is looked for as far as it goes. */
function placeOf(frames: readonly string[], within: readonly string[]): number {
  if (frames.length === 0) return within.length;
  for (let at = 0; at < within.length; at += 1) {
    if (frames.every((frame, index) => within[at + index] === frame || at + index >= ENOUGH)) return at;
  }
  return -1;
}

/** Whether a frame has the text of a delta in it, as JSON or as JSON within JSON. */
export function hasDelta(frame: string | undefined, { event }: NativeRecord): boolean {
  if (!frame || (event.type !== 'block-delta' && event.type !== 'tool-input-delta')) return false;
  const once = JSON.stringify(event.delta).slice(1, -1);
  return frame.includes(once) || frame.includes(JSON.stringify(once).slice(1, -1));
}
