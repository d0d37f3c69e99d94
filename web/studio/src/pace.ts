/** How long a stream that is read at once is not drawn, in milliseconds: drawing it in parts takes longer than reading it. */
const PATIENCE = 400;
/** A live stream brings fewer records at a time. */
const MANY = 100;

/**
 * When a view of a stream is drawn: its beginning at once, a live stream several times a second, and a stream that is read at once
 * when it is there. A long one is drawn less often, because each time all of it is looked at.
 */
export function createPace(draw: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let drawn = -Infinity;
  let total = 0;
  const now = () => {
    clearTimeout(timer);
    timer = undefined;
    drawn = performance.now();
    draw();
  };
  return {
    now,
    stop: () => clearTimeout(timer),
    /** So many records have arrived. Resolves when the page has had time to draw them, if it needed some. */
    async arrived(count: number): Promise<void> {
      const isFirst = total === 0;
      total += count;
      if (!isFirst && count < MANY) {
        timer ??= setTimeout(now, Math.max(60, total / 50));
      } else if (performance.now() - drawn < PATIENCE) {
        timer ??= setTimeout(now, PATIENCE);
      } else {
        now();
        // What has arrived already is read without a pause, which leaves no time for drawing.
        await new Promise((resolve) => setTimeout(resolve));
      }
    },
  };
}
