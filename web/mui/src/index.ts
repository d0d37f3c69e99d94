/**
 * The adapter of MUI X Chat for a Headwater server.
 *
 * `createHeadwaterAdapter` is all that a page needs: it sends, resumes, answers, stops, regenerates, and loads
 * conversations. `docs/guides/mui.md` has a whole page.
 *
 * @packageDocumentation
 */
export { createHeadwaterAdapter, type HeadwaterAdapter, type HeadwaterAdapterOptions } from './adapter.js';
