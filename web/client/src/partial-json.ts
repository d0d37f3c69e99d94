/**
 * The value of JSON text that is not complete yet: open strings, arrays and objects end where the text does. A number,
 * an incomplete literal or key is left out: it may still grow. `undefined` if there is no value yet.
 *
 * @example
 * ```ts
 * parsePartialJson('{"city":"Den') // { city: 'Den' }
 * ```
 */
export function parsePartialJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return new PartialParser(text).value();
  }
}

/** What ends the text early. */
const OPEN = Symbol();

class PartialParser {
  #at = 0;
  #isOpen = false;

  constructor(private readonly text: string) {}

  /** The value at the current place, or `undefined` where it is not known yet. */
  value(): unknown {
    const value = this.#value();
    return value === OPEN ? undefined : value;
  }

  #value(): unknown {
    const first = this.#next();
    if (first === '{') return this.#object();
    if (first === '[') return this.#array();
    if (first === '"') return this.#string();
    return this.#scalar();
  }

  /** The next character that is no white space. */
  #next(): string | undefined {
    while (/\s/.test(this.text[this.#at] ?? '.')) this.#at += 1;
    if (this.#at >= this.text.length) this.#isOpen = true;
    return this.text[this.#at];
  }

  #object(): unknown {
    const object: Record<string, unknown> = {};
    this.#at += 1;
    while (this.#next() === '"') {
      const key = this.#string();
      if (this.#isOpen || this.#next() !== ':') break;
      this.#at += 1;
      const value = this.#value();
      if (value === OPEN) break;
      Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
      if (this.#isOpen || this.#next() !== ',') break;
      this.#at += 1;
    }
    return this.#close('}', object);
  }

  #array(): unknown {
    const items: unknown[] = [];
    this.#at += 1;
    while (this.#next() !== ']' && !this.#isOpen) {
      const value = this.#value();
      if (value === OPEN) break;
      items.push(value);
      if (this.#isOpen || this.#next() !== ',') break;
      this.#at += 1;
    }
    return this.#close(']', items);
  }

  #close(end: string, value: unknown): unknown {
    if (!this.#isOpen && this.#next() === end) this.#at += 1;
    else this.#isOpen = true;
    return value;
  }

  #string(): string {
    const start = this.#at;
    const end = /"(?:[^"\\]|\\.)*"/sy;
    end.lastIndex = start;
    const whole = end.exec(this.text);
    if (whole) this.#at = end.lastIndex;
    else {
      this.#isOpen = true;
      this.#at = this.text.length;
    }
    // Half of an escape is not text yet.
    const body = whole ? whole[0] : `${this.text.slice(start).replace(/((?:^|[^\\])(?:\\\\)*)\\(?:u[\da-fA-F]{0,3})?$/, '$1')}"`;
    try {
      return JSON.parse(body) as string;
    } catch {
      this.#isOpen = true;
      return '';
    }
  }

  #scalar(): unknown {
    // A literal is complete with its last letter; a number may grow until something else comes.
    const token = /true|false|null|[^\s,\]}]*/y;
    token.lastIndex = this.#at;
    const word = (token.exec(this.text) as RegExpExecArray)[0];
    this.#at += word.length;
    const isWhole = this.#at < this.text.length || /^[tfn]/.test(word);
    try {
      if (isWhole) return JSON.parse(word);
    } catch {
      // Not JSON: what came before it counts.
    }
    this.#isOpen = true;
    return OPEN;
  }
}
