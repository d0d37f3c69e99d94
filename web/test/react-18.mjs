// Runs tests with React 18: `node --import ./test/react-18.mjs --test …`.

import { register } from 'node:module';

const hooks = `
const elsewhere = ${JSON.stringify(new URL('./react-18/package.json', import.meta.url).href)};
export const resolve = (name, context, next) =>
  /^react(-dom)?(\\/|$)/.test(name) ? next(name, { ...context, parentURL: elsewhere }) : next(name, context);
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
