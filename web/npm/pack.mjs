// Packs the npm packages of a release.
//
//   node pack.mjs --out FOLDER                                        the package `headwater`
//   node pack.mjs --platform linux-x64 --binary PATH --out FOLDER     the package with the program of one platform

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PLATFORMS } from './headwater/bin/platform.js';

const here = dirname(fileURLToPath(import.meta.url));
const wrapper = JSON.parse(readFileSync(join(here, 'headwater/package.json'), 'utf8'));

const { values } = parseArgs({
  options: { platform: { type: 'string' }, binary: { type: 'string' }, out: { type: 'string' } },
});
if (!values.out) throw new Error('say where to put the package: --out FOLDER');
const out = resolve(values.out);
mkdirSync(out, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), 'headwater-npm-'));
try {
  if (values.platform) packProgram(values.platform, values.binary);
  else packWrapper();
  execFileSync('npm', ['pack', '--silent', '--pack-destination', out], { cwd: folder, stdio: 'inherit' });
} finally {
  rmSync(folder, { recursive: true });
}

function packWrapper() {
  cpSync(join(here, 'headwater'), folder, { recursive: true });
  // npm installs only the one whose `os` and `cpu` fit.
  const optionalDependencies = Object.fromEntries(PLATFORMS.map((name) => [`@headwater/bin-${name}`, wrapper.version]));
  write({ ...wrapper, optionalDependencies });
}

function packProgram(platform, binary) {
  if (!PLATFORMS.includes(platform)) throw new Error(`unknown platform ${platform}: use one of ${PLATFORMS.join(', ')}`);
  if (!binary) throw new Error('say where the program is: --binary PATH');
  const [os, cpu] = platform.split('-');
  const name = os === 'win32' ? 'headwater.exe' : 'headwater';
  mkdirSync(join(folder, 'bin'));
  copyFileSync(binary, join(folder, 'bin', name));
  chmodSync(join(folder, 'bin', name), 0o755);
  const { version, license, repository } = wrapper;
  const description = `The program of the package headwater for ${platform}`;
  write({ name: `@headwater/bin-${platform}`, version, description, license, repository, os: [os], cpu: [cpu], files: ['bin'] });
}

function write(manifest) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
