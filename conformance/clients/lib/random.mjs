// Chance that can be repeated: the same seed gives the same numbers.

export class Random {
  #state;

  /** `words` of any kind make the seed, so that each case has a history of its own. */
  constructor(...words) {
    let hash = 0x811c9dc5;
    for (const char of words.join('\0')) hash = Math.imul(hash ^ char.codePointAt(0), 0x01000193);
    this.#state = hash >>> 0;
  }

  /** A number from 0 to 1, without 1 (mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick(list) {
    return list[this.between(0, list.length - 1)];
  }
}
