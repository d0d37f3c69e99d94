// Writes `files.rs` beside the built files: what the server serves, without Node and without a build script.

import { readdirSync, writeFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

export function rustTable() {
  let folder;
  return {
    name: 'rust-table',
    apply: 'build',
    configResolved: (config) => void (folder = resolve(config.root, config.build.outDir)),
    closeBundle() {
      const files = readdirSync(join(folder, 'assets')).sort().map((name) => `assets/${name}`);
      const rows = [['/', 'index.html'], ...files.map((file) => [`/${file}`, file])].map(([path, file]) => {
        const type = TYPES[extname(file)];
        if (!type) throw new Error(`${file} has no media type`);
        const fields = [`path: "${path}"`, `media_type: "${type}"`, `bytes: include_bytes!("${file}")`];
        const line = `    StudioFile { ${fields.join(', ')} },`;
        // As rustfmt writes it.
        return `${line.length <= 110 ? line : `    StudioFile {\n${fields.map((field) => `        ${field},\n`).join('')}    },`}\n`;
      });
      writeFileSync(join(folder, 'files.rs'), `${HEAD}${rows.join('')}];\n`);
    },
  };
}

const HEAD = `//! The files of the studio. Written by \`npm run build\` in \`web/studio\`; do not edit it.

/// A file of the studio.
#[derive(Debug)]
pub(crate) struct StudioFile {
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) bytes: &'static [u8],
}

pub(crate) const FILES: &[StudioFile] = &[
`;
