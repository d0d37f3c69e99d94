// `ai` 5, which knows no approvals.

import { aiSdk } from './ai.mjs';

export default aiSdk({ name: 'ai-5', module: 'ai-v5', approvals: false });
