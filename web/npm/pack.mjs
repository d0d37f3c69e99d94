// Packs the npm packages of a release.
//
//   node pack.mjs --out FOLDER                                        the package `headwater`
//   node pack.mjs --platform linux-x64 --binary PATH --out FOLDER     the package with the program of one platform
//   node pack.mjs --libraries --out FOLDER                            the packages for pages, as `npm run build` left them

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PLATFORMS } from './headwater/bin/platform.js';

const here = dirname(fileURLToPath(import.meta.url));
const web = dirname(here);
const LIBRARIES = ['client', 'react', 'mui'];
const LICENSES = ['LICENSE-MIT', 'LICENSE-APACHE'];
const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const wrapper = manifestOf(join(here, 'headwater'));

const { values } = parseArgs({
  options: { platform: { type: 'string' }, binary: { type: 'string' }, libraries: { type: 'boolean' }, out: { type: 'string' } },
});
if (!values.out) throw new Error('say where to put the package: --out FOLDER');
const out = resolve(values.out);
mkdirSync(out, { recursive: true });
if (values.libraries) for (const name of LIBRARIES) pack((folder) => copyLibrary(folder, name));
else if (values.platform) pack((folder) => copyProgram(folder, values.platform, values.binary));
else pack(copyWrapper);

/** Packs what `copy` puts into an empty folder, with the manifest that it returns and the texts of the licenses. */
function pack(copy) {
  const folder = mkdtempSync(join(tmpdir(), 'headwater-npm-'));
  try {
    const manifest = copy(folder);
    for (const name of LICENSES) copyFileSync(join(web, '..', name), join(folder, name));
    const files = [...manifest.files, ...LICENSES];
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, files }, null, 2)}\n`);
    execFileSync('npm', ['pack', '--silent', '--pack-destination', out], { cwd: folder, stdio: 'inherit' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function copyWrapper(folder) {
  cpSync(join(here, 'headwater'), folder, { recursive: true });
  // npm installs only the one whose `os` and `cpu` fit.
  const optionalDependencies = Object.fromEntries(PLATFORMS.map((name) => [`@headwater/bin-${name}`, wrapper.version]));
  return { ...wrapper, optionalDependencies };
}

function copyProgram(folder, platform, binary) {
  if (!PLATFORMS.includes(platform)) throw new Error(`unknown platform ${platform}: use one of ${PLATFORMS.join(', ')}`);
  if (!binary) throw new Error('say where the program is: --binary PATH');
  const [os, cpu] = platform.split('-');
  const name = os === 'win32' ? 'headwater.exe' : 'headwater';
  mkdirSync(join(folder, 'bin'));
  copyFileSync(binary, join(folder, 'bin', name));
  chmodSync(join(folder, 'bin', name), 0o755);
  const { version, license, repository } = wrapper;
  const description = `The program of the package headwater for ${platform}`;
  return { name: `@headwater/bin-${platform}`, version, description, license, repository, os: [os], cpu: [cpu], files: ['bin'] };
}

function copyLibrary(folder, name) {
  const source = join(web, name);
  if (!existsSync(join(source, 'dist/index.js'))) throw new Error(`${join(source, 'dist')} is not built: run \`npm run build\` in ${web} first`);
  for (const entry of ['dist', 'README.md']) cpSync(join(source, entry), join(folder, entry), { recursive: true });
  return manifestOf(source);
}
