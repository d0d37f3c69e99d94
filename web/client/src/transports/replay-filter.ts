import type { UIMessageChunk } from '../ai-sdk.js';

/**
 * Passes on the new chunks of an AI SDK stream that is replayed from its first chunk. The replay has the same parts
 * in the same order with the same ids, but in other pieces: a text of a thousand deltas is one.
 */
export class ReplayFilter {
  /** The texts that were passed on, by kind and id. */
  #texts = new Map<string, string>();
  /** The texts of the replay so far. */
  #replayed = new Map<string, string>();
  /** Chunks that change nothing when they come again. */
  #seen = new Set<string>();
  #steps = 0;
  #replayedSteps = 0;

  /** The stream begins again. */
  restart(): void {
    this.#replayed.clear();
    this.#replayedSteps = 0;
  }

  /** What of a chunk is new: itself, the rest of it, or nothing. */
  pass(chunk: UIMessageChunk): UIMessageChunk | undefined {
    const { type } = chunk;
    if (type === 'start-step' || type === 'finish-step') {
      this.#replayedSteps += 1;
      if (this.#replayedSteps <= this.#steps) return undefined;
      this.#steps = this.#replayedSteps;
      return chunk;
    }
    const field = type === 'tool-input-delta' ? 'inputTextDelta' : 'delta';
    const key = `${type.replace(/-delta$/, '')} ${chunk['id'] ?? chunk['toolCallId']}`;
    if (type.endsWith('-delta')) {
      const told = (this.#replayed.get(key) ?? '') + (chunk[field] as string);
      this.#replayed.set(key, told);
      const known = this.#texts.get(key) ?? '';
      if (told.length <= known.length) return undefined;
      this.#texts.set(key, told);
      return { ...chunk, [field]: told.slice(known.length) };
    }
    // Data may change back, and an end is the end.
    if (type.startsWith('data-') || /^(finish|abort|error|message-metadata)$/.test(type)) return chunk;
    const same = JSON.stringify(chunk);
    if (this.#seen.has(same)) return undefined;
    this.#seen.add(same);
    return chunk;
  }
}
