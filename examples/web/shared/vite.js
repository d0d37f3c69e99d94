// The settings of all pages for Vite.

import { fileURLToPath } from 'node:url';

export default {
  resolve: {
    // A page must not have two Reacts: `shared` and the page may find different ones.
    dedupe: ['react', 'react-dom'],
    // From the sources beside the examples, so that nothing needs to be built first.
    alias: { '@headwater/mui': fileURLToPath(new URL('../../../web/mui/src/index.ts', import.meta.url)) },
  },
  // Which lie outside of the examples.
  server: { fs: { allow: ['../../..'] } },
  // Pages wait for their history before they are drawn.
  build: { target: 'es2022' },
};
