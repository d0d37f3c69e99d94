import type { UIMessageChunk } from '../ai-sdk.js';

/**
 * Passes on the new chunks of an AI SDK stream that is replayed from its first chunk. The replay has the same parts
 * in the same order with the same ids, but in other pieces: a text of a thousand deltas is one. Parts that are gone from
 * it were retracted: `isExact` removes them, which `ai` knows since 7.0.70; otherwise they are closed and stay.
 */
export class ReplayFilter {
  #isExact: boolean;
  /** The texts that were passed on, by kind and id. */
  #texts = new Map<string, string>();
  /** How often each other chunk was passed on. */
  #passed = new Map<string, number>();
  /** The newest value of data with an id. */
  #data = new Map<string, string>();
  /** The parts of the current step that were passed on, and the chunks that end those that are open. */
  #parts = new Map<string, UIMessageChunk | undefined>();
  /** Whether a replay is read that has not come to a new part yet. */
  #isBehind = false;
  // The replay so far: its texts, the counts of its other chunks, its parts, and the chunks of its newest step.
  #replayedTexts = new Map<string, string>();
  #replayed = new Map<string, number>();
  #replayedParts = new Set<string>();
  #step: UIMessageChunk[] = [];

  constructor(isExact: boolean) {
    this.#isExact = isExact;
  }

  /** The stream begins again. */
  restart(): void {
    this.#isBehind = true;
    this.#replayedTexts.clear();
    this.#replayed.clear();
    this.#replayedParts.clear();
    this.#step = [];
  }

  /** What of a chunk is new: itself, the rest of it, or nothing; before a new part the end of those that are gone. */
  pass(chunk: UIMessageChunk): UIMessageChunk[] {
    const { type } = chunk;
    const [, kind, change] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(type) ?? [];
    const part = kind && `${kind} ${chunk['id'] ?? chunk['toolCallId']}`;
    if (type === 'start-step') this.#step = [];
    else if (this.#isBehind) this.#step.push(chunk);
    const fresh = part && change === 'delta' ? this.#delta(chunk, part) : this.#isNew(chunk) ? chunk : undefined;
    if (part && change === 'start') this.#replayedParts.add(part);
    if (!fresh) return [];
    if (type === 'start-step') this.#parts.clear();
    if (change === 'end') this.#parts.set(part as string, undefined);
    if (change !== 'start') return [fresh];

    // Parts are only added at the end, so the replay has sent all that are left.
    const before = this.#isBehind ? this.#retract() : [];
    this.#isBehind = false;
    this.#parts.set(part as string, kind === 'tool-input' ? undefined : { type: `${kind}-end`, id: chunk['id'] });
    return before[0]?.type === 'reset-step' ? before : [...before, fresh];
  }

  /** What the page is to be sent for the parts that are gone: to have the step anew, or the ends of the open ones. */
  #retract(): UIMessageChunk[] {
    const gone = [...this.#parts].filter(([part]) => !this.#replayedParts.has(part));
    if (gone.length === 0) return [];
    for (const [part] of gone) this.#parts.delete(part);
    if (!this.#isExact) return gone.flatMap(([, end]) => end ?? []);
    for (const [part, text] of this.#replayedTexts) this.#texts.set(part, text);
    return [{ type: 'reset-step' }, ...this.#step];
  }

  #delta(chunk: UIMessageChunk, part: string): UIMessageChunk | undefined {
    const field = chunk.type === 'tool-input-delta' ? 'inputTextDelta' : 'delta';
    const replayed = (this.#replayedTexts.get(part) ?? '') + (chunk[field] as string);
    this.#replayedTexts.set(part, replayed);
    const known = this.#texts.get(part) ?? '';
    if (replayed.length <= known.length) return undefined;
    this.#texts.set(part, replayed);
    return { ...chunk, [field]: replayed.slice(known.length) };
  }

  #isNew(chunk: UIMessageChunk): boolean {
    const { type, id, transient } = chunk;
    // An end is the end.
    if (/^(finish|abort|error)$/.test(type)) return true;
    const same = JSON.stringify(chunk);
    if (type.startsWith('data-') && id !== undefined && !transient) {
      // The replay has the newest value alone, which may be an earlier one again.
      const isNew = this.#data.get(`${type} ${id}`) !== same;
      this.#data.set(`${type} ${id}`, same);
      return isNew;
    }
    const count = (this.#replayed.get(same) ?? 0) + 1;
    const passed = this.#passed.get(same) ?? 0;
    this.#replayed.set(same, count);
    this.#passed.set(same, Math.max(count, passed));
    // The replay of a state has nothing transient and no retractions, so one like an earlier one is new after it.
    return count > passed || (!this.#isBehind && (transient === true || type === 'reset-step'));
  }
}
