#!/usr/bin/env node
// Starts the program of the package for this platform, with the same arguments, signals and exit code.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { program } from './platform.js';

const found = program(createRequire(import.meta.url).resolve, process.platform, process.arch);
if ('problem' in found) {
  console.error(found.problem);
  process.exit(1);
}
const child = spawn(found.path, process.argv.slice(2), { stdio: 'inherit' });
// The terminal signals the whole group, but a supervisor signals this process alone.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`cannot start ${found.path}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
