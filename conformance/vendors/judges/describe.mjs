/** The text of whatever a client threw; a validator's pages of alternatives are cut. */
export function describe(thrown) {
  const text = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
