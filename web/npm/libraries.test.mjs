// The packages for pages as a user gets them: packed, installed into an empty folder from the tarballs, imported and type-checked.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const workspace = join(here, '../node_modules');
/** What a page has anyway: they come from where this workspace has them, so that no registry is asked. */
const PEERS = ['react', 'react-dom', '@types/react', '@types/react-dom', '@mui/x-chat-headless'];
const LIBRARIES = ['client', 'mui', 'react'];
const manifestOf = (path) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'headwater-libraries-'));
  execFileSync('node', [join(here, 'pack.mjs'), '--libraries', '--out', folder], { stdio: 'pipe' });
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const tarballs = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  assert.equal(tarballs.length, LIBRARIES.length);
  const install = ['install', '--offline', '--legacy-peer-deps', '--no-audit', '--no-fund', ...tarballs.map((name) => `./${name}`)];
  execFileSync('npm', install, { cwd: folder, stdio: 'pipe' });
  for (const peer of PEERS) {
    const link = join(folder, 'node_modules', peer);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(workspace, peer), link);
  }
});
after(() => rmSync(folder, { recursive: true, force: true }));

const installed = (name) => join(folder, 'node_modules/@headwater', name);

/** Every name that a page may import. */
const entryPoints = () => LIBRARIES.flatMap((name) => Object.keys(manifestOf(installed(name)).exports).map((path) => join('@headwater', name, path)));

test('every entry point is imported as an ES module', () => {
  const names = entryPoints();
  assert.ok(names.includes('@headwater/client/ai-sdk'), names.join(' '));
  writeFileSync(
    join(folder, 'import.js'),
    `const sizes = {};
for (const name of ${JSON.stringify(names)}) sizes[name] = Object.keys(await import(name)).length;
const { createChat } = await import('@headwater/client');
const chat = createChat({ url: 'http://127.0.0.1:9' });
console.log(JSON.stringify({ sizes, status: chat.getSnapshot().status }));`,
  );
  const { sizes, status } = JSON.parse(execFileSync('node', ['import.js'], { cwd: folder, encoding: 'utf8' }));
  assert.deepEqual(names.filter((name) => !(sizes[name] > 0)), [], 'entry points without exports');
  assert.equal(status, 'ready');
});

const PAGE = `
import { createChat, type ChatSnapshot, type Message } from '@headwater/client';
import { readMessages } from '@headwater/client/ai-sdk';
import { createHeadwaterAdapter } from '@headwater/mui';
import { useChat } from '@headwater/react';

export const adapter = createHeadwaterAdapter({ url: '/v1/mui/chat' });
export const statusOf = (snapshot: ChatSnapshot) => snapshot.status;
export const chat = createChat({ url: '/', agent: 'chat' });
export const answers = (response: Response) => readMessages(response);
const textOf = ({ parts }: Message) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

export function Page() {
  const { messages, send } = useChat({ url: '/' });
  return <button onClick={() => void send('Hello')}>{messages.map(textOf)}</button>;
}
// @ts-expect-error: were the types not found, anything would do.
chat.send(1);
`;

for (const [module, moduleResolution] of [['ESNext', 'Bundler'], ['NodeNext', 'NodeNext']]) {
  test(`a page is type-checked with module resolution ${moduleResolution}`, () => {
    writeFileSync(join(folder, 'page.tsx'), PAGE);
    const compilerOptions = {
      target: 'ES2022', module, moduleResolution, lib: ['ES2023', 'DOM', 'DOM.Iterable'],
      strict: true, noEmit: true, jsx: 'react-jsx', types: [],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['page.tsx'] }));
    const tsc = spawnSync('node', [join(workspace, 'typescript/bin/tsc'), '-p', folder], { encoding: 'utf8' });
    assert.equal(tsc.status, 0, tsc.stdout + tsc.stderr);
  });
}

test('a tarball has what a registry shows, and nothing but the build', () => {
  const { version } = manifestOf(join(here, 'headwater'));
  for (const name of LIBRARIES) {
    const manifest = manifestOf(installed(name));
    for (const field of ['description', 'license', 'homepage', 'keywords', 'engines']) assert.ok(manifest[field], `${name} has no ${field}`);
    assert.equal(manifest.sideEffects, false);
    assert.equal(manifest.repository.directory, `web/${name}`);
    assert.equal(manifest.version, version, 'all packages of a release have one version');
    const files = readdirSync(installed(name)).sort();
    assert.deepEqual(files, ['LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'dist', 'package.json'].sort());
    assert.deepEqual(readdirSync(join(installed(name), 'dist'), { recursive: true }).filter((file) => !/(\.js|\.d\.ts)$|^[^.]+$/.test(file)), []);
  }
  assert.equal(manifestOf(installed('react')).dependencies['@headwater/client'], version);
});
