// What `headwater reduce` makes of a stream.

import { execFile } from 'node:child_process';

export function reduce(binary, dialect, stream) {
  return new Promise((resolve, reject) => {
    const args = ['reduce', '--dialect', dialect];
    const child = execFile(binary, args, { maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      // A failed run is shown by its exit code, but still has a state.
      if (stdout) resolve(JSON.parse(stdout));
      else reject(error ?? new Error(stderr));
    });
    child.stdin.end(stream);
  });
}
