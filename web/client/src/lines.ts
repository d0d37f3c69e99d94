/** Cuts text that arrives in pieces into lines, which end with LF, CR or CRLF. */
export function createLineSplitter() {
  let rest = '';
  let endedWithCr = false;
  return {
    /** The text after the last line end. */
    rest: () => rest,

    /** The lines that `text` completes. */
    push(text: string): string[] {
      if (text === '') return [];
      // The two halves of a CRLF may arrive in two pieces.
      if (endedWithCr && text[0] === '\n') text = text.slice(1);
      endedWithCr = text.endsWith('\r');
      const lines = text.includes('\r') ? text.split(/\r\n|\r|\n/) : text.split('\n');
      const last = lines.pop() as string;
      // What has no line end is not searched again, so a long line in many pieces costs its length once.
      if (lines.length > 0) {
        lines[0] = rest + lines[0];
        rest = '';
      }
      rest += last;
      return lines;
    },
  };
}
