// `ai` 5, which knows no approvals. Where a tool's input was cut, it takes the replay for what comes next, and says all
// before it twice; so the page forgets the half message before it comes back. Later versions do that themselves.

import { aiSdk } from './ai.mjs';

export default aiSdk({ name: 'ai-5', module: 'ai-v5', approvals: false, forgets: true });
