// The packages as a user gets them: packed, installed into an empty folder from the tarballs, and run.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { program } from './headwater/bin/platform.js';

const here = dirname(fileURLToPath(import.meta.url));
const platform = `${process.platform}-${process.arch}`;
let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'headwater-packages-'));
  const binary = join(folder, 'headwater-stripped');
  copyFileSync(process.env.HEADWATER_BINARY, binary);
  // What a debugger wants of a debug build would take most of the time.
  spawnSync('strip', [binary]);
  const pack = (...args) => execFileSync('node', [join(here, 'pack.mjs'), ...args, '--out', folder], { stdio: 'pipe' });
  pack();
  pack('--platform', platform, '--binary', binary);
  rmSync(binary);
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const tarballs = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  assert.equal(tarballs.length, 2);
  // The packages of other platforms are in no registry here, and optional.
  const install = ['install', '--offline', '--no-audit', '--no-fund', ...tarballs.map((name) => `./${name}`)];
  execFileSync('npm', install, { cwd: folder, stdio: 'pipe' });
});
after(() => rmSync(folder, { recursive: true, force: true }));

test('the program runs by its name', () => {
  const ran = execFileSync('npx', ['--no-install', 'headwater', '--version'], { cwd: folder, encoding: 'utf8' });
  assert.match(ran, /^headwater \d+\.\d+\.\d+/);
});

test('the README writes an agent that can be served', () => {
  const readme = readFileSync(join(here, 'headwater/README.md'), 'utf8');
  const [, name] = readme.match(/`npx headwater new (\S+)`/);
  const [, served] = readme.match(/`npx headwater\s+serve (\S+)`/);
  const npx = (...args) => spawnSync('npx', ['--no-install', 'headwater', ...args], { cwd: folder, encoding: 'utf8' });
  assert.equal(npx('new', name).status, 0);
  const checked = npx('check', served);
  assert.equal(checked.status, 0, checked.stderr);
});

test('exit codes and arguments are passed on', () => {
  const ran = spawnSync('npx', ['--no-install', 'headwater', 'no-such-command'], { cwd: folder, encoding: 'utf8' });
  assert.equal(ran.status, 2, ran.stderr);
  assert.match(ran.stderr, /no-such-command/);
});

test('a signal stops the server', async () => {
  const child = spawn('node', ['node_modules/headwater/bin/headwater.js', 'serve', '--listen', '127.0.0.1:0', '--store', 'memory:'], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1' },
  });
  let said = '';
  const greeted = new Promise((resolve, reject) => {
    child.stdout.on('data', (text) => (said += text) && said.includes('http://127.0.0.1:') && resolve());
    child.stderr.on('data', (text) => (said += text));
    child.on('exit', () => reject(new Error(said)));
  });
  await greeted;
  const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve({ code, signal })));
  child.kill('SIGTERM');
  assert.deepEqual(await ended, { code: 0, signal: null }, said);
});

test('a platform without a program is named, with what to do', () => {
  const missing = () => {
    throw new Error('not found');
  };
  assert.match(program(missing, 'sunos', 'x64').problem, /no program for sunos-x64.*cargo install/s);
  assert.match(program(missing, 'linux', 'x64').problem, /@headwater\/bin-linux-x64 is not installed/);
  assert.deepEqual(program((name) => `/m/${name}`, 'win32', 'x64'), { path: '/m/@headwater/bin-win32-x64/bin/headwater.exe' });
});
