const BLOCK = 512;

/** The files as a tar archive (ustar). */
export function tar(files: readonly { name: string; text: string }[]): Blob {
  const encoder = new TextEncoder();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (const { name, text } of files) {
    const bytes = encoder.encode(text);
    parts.push(header(encoder.encode(name), bytes.length), bytes, new Uint8Array((BLOCK - (bytes.length % BLOCK)) % BLOCK));
  }
  // Two empty blocks are the end.
  return new Blob([...parts, new Uint8Array(2 * BLOCK)], { type: 'application/x-tar' });
}

function header(name: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  if (name.length > 100) throw new RangeError('a name in a tar archive has at most 100 bytes');
  const block = new Uint8Array(BLOCK);
  const put = (at: number, text: string) => block.set(new TextEncoder().encode(text), at);
  const octal = (number: number, digits: number) => `${number.toString(8).padStart(digits, '0')}\0`;
  block.set(name);
  put(100, octal(0o600, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(size, 11));
  put(136, octal(Math.floor(Date.now() / 1000), 11));
  put(156, '0');
  put(257, 'ustar\x0000');
  // The sum is taken with spaces in its own place.
  put(148, ' '.repeat(8));
  put(148, `${octal(block.reduce((sum, byte) => sum + byte, 0), 6)} `);
  return block;
}
