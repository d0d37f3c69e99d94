/** Cuts text that arrives in pieces into lines, which end with LF, CR or CRLF. */
export class LineSplitter {
  #rest = '';
  #endedWithCr = false;

  /** The lines that `text` completes. */
  push(text: string): string[] {
    if (text === '') return [];
    // The two halves of a CRLF may arrive in two pieces.
    if (this.#endedWithCr && text[0] === '\n') text = text.slice(1);
    this.#endedWithCr = text.endsWith('\r');
    const lines = text.includes('\r') ? text.split(/\r\n|\r|\n/) : text.split('\n');
    const last = lines.pop() as string;
    if (lines.length === 0) {
      // Not searched again, so a long line in many pieces costs its length once.
      this.#rest += last;
      return lines;
    }
    lines[0] = this.#rest + lines[0];
    this.#rest = last;
    return lines;
  }

  /** The text after the last line end. */
  get rest(): string {
    return this.#rest;
  }
}
