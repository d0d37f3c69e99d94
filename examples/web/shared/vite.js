// The settings of all pages for Vite.

export default {
  // A page must not have two Reacts: `shared` and the page may find different ones.
  resolve: { dedupe: ['react', 'react-dom'] },
  // The adapter for MUI lies outside of the examples.
  server: { fs: { allow: ['../../..'] } },
  // Pages wait for their history before they are drawn.
  build: { target: 'es2022' },
};
