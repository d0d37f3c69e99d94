/** The text of whatever a client threw. */
export function describe(thrown) {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}
