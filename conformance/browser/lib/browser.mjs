// The Chromium that all tests with a real browser use.

import { chromium } from 'playwright-core';

export function launch() {
  const executablePath = process.env.CHROME ?? '/usr/bin/chromium';
  // In a container Chromium is root's and has no sandbox, and little shared memory.
  const args = [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage'];
  // A page elsewhere, for the tests that need one: its name is not one of this machine.
  args.push('--host-resolver-rules=MAP elsewhere.test 127.0.0.1');
  // Several start at once where tests run side by side.
  return chromium.launch({ executablePath, args, timeout: 120_000 });
}
