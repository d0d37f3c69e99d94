// Two runs of the same scenario have other ids and other times. In the normal form an id is the number of its first
// appearance, and times and our own notes are gone; whatever else differs is a difference.

// The provider's name of a call is noted where an attempt that died has had it.
const GONE = new Set([
  'createdAt',
  'updatedAt',
  'timestamp',
  'expiresAt',
  'signature',
  'token',
  'metadata',
  'callProviderMetadata',
]);
const IDS = new Set([
  'id',
  'messageId',
  'toolCallId',
  'sourceId',
  'approvalId',
  'parentMessageId',
  'conversationId',
  'request',
  'requestId',
  'runId',
  'stepId',
]);

export function normal(value) {
  const known = new Map();
  const name = (id) => {
    if (!known.has(id)) known.set(id, `#${known.size + 1}`);
    return known.get(id);
  };
  const walk = (value, key) => {
    if (Array.isArray(value)) return value.map((item) => walk(item));
    if (value !== null && typeof value === 'object') {
      const entries = Object.entries(value).filter(([key, value]) => value !== undefined && !GONE.has(key));
      return Object.fromEntries(entries.map(([key, value]) => [key, walk(value, key)]));
    }
    if (!IDS.has(key) || typeof value !== 'string') return value;
    // Parts are numbered by attempt, and a resumed run has more attempts.
    return /^a\d+\.\d+$/.test(value) ? '#part' : name(value);
  };
  return walk(plain(value));
}

/** What JSON keeps of it: members that are `undefined` vanish, dates become text. */
export function plain(value) {
  return JSON.parse(JSON.stringify(value ?? null));
}
