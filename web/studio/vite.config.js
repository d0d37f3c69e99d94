import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { guides } from './guides.js';
import { rustTable } from './rust-table.js';

const server = process.env.HEADWATER_URL ?? 'http://127.0.0.1:8787';

export default defineConfig({
  base: './',
  plugins: [guides(fileURLToPath(new URL('../../docs/guides/', import.meta.url))), rustTable()],
  // The longer name first: an alias replaces the beginning of a name.
  resolve: {
    alias: {
      '@headwater/client/session': fileURLToPath(new URL('../client/src/session.ts', import.meta.url)),
      '@headwater/client': fileURLToPath(new URL('../client/src/index.ts', import.meta.url)),
    },
  },
  build: {
    target: 'es2022',
    outDir: process.env.STUDIO_OUT ?? '../../crates/headwater-cli/src/serve/studio',
    emptyOutDir: true,
    // The policy of the page allows no inline scripts, and browsers of the last years need no polyfill.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: {
    // The server takes requests of its own origin alone.
    proxy: { '^/(v1|studio)/': { target: server, changeOrigin: true, headers: { origin: server } } },
  },
});
