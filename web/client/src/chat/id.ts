/** A new random id. `crypto.randomUUID` is missing on pages without TLS. */
export const newId = (): string =>
  crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join('-');
