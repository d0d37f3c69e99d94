// Waits for a condition: clients do not announce when their background work is done.

/** How long a case may wait for one thing; it is there so that a client that hangs fails by name. */
const PATIENCE = 60_000;

/** Resolves with the first truthy value of `condition`; `what` names it if it never comes. */
export async function until(what, condition, patience = PATIENCE) {
  const give = Date.now() + patience;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > give) throw new Error(`waited in vain for ${typeof what === 'function' ? what() : what}`);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

/** `promise`, or a failure by name. */
export function within(what, promise, patience = PATIENCE) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), patience);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
