// `ai` 5, which has no approvals. If a tool's input was cut, it appends the replay to it, so the page drops
// the partial message before it reconnects. Later versions do that themselves.

import { aiSdk } from './ai.mjs';

export default aiSdk({ name: 'ai-5', module: 'ai-v5', approvals: false, forgets: true });
