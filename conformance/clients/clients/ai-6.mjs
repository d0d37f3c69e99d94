// `ai` 6.

import { aiSdk } from './ai.mjs';

export default aiSdk({ name: 'ai-6', module: 'ai-v6', approvals: true });
