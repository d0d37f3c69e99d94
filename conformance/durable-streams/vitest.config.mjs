import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Some tests wait for a long-poll to end, and on a busy machine a second is short.
  test: { testTimeout: 30_000, hookTimeout: 60_000, include: ['*.test.mjs'] },
});
