// What a page downloads for each client, minified and compressed, without React.

import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const folder = (path) => fileURLToPath(new URL(path, import.meta.url));
const PACKAGES = ['../../conformance/pages/node_modules', '../../conformance/vendors/node_modules'].map(folder);

/** The clients, as a page imports them to chat. */
const IMPORTS = {
  '@headwater/client': `export { createChat } from '@headwater/client'`,
  '@headwater/react': `export { useChat, useInterrupts } from '@headwater/react'`,
  '@headwater/mui': `export { createHeadwaterAdapter } from '@headwater/mui'`,
  '@ai-sdk/react': `export { useChat } from '@ai-sdk/react'`,
  '@tanstack/ai-react': `export { useChat, fetchServerSentEvents } from '@tanstack/ai-react'`,
  '@mui/x-chat-headless': `export { ChatProvider, useChat } from '@mui/x-chat-headless'`,
  '@ag-ui/client': `export { HttpAgent } from '@ag-ui/client'`,
};

export async function measureSizes() {
  const sizes = Object.entries(IMPORTS).map(async ([name, contents]) => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: folder('.') },
      bundle: true,
      minify: true,
      format: 'esm',
      define: { 'process.env.NODE_ENV': '"production"' },
      external: ['react', 'react-dom'],
      nodePaths: PACKAGES,
      write: false,
      logLevel: 'error',
    });
    return [name, gzipSync(outputFiles[0].contents, { level: 9 }).length];
  });
  return Object.fromEntries(await Promise.all(sizes));
}
