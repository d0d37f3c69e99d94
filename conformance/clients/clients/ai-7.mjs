// `ai` 7, under the profile that takes attempts back.

import { aiSdk } from './ai.mjs';

export default aiSdk({ name: 'ai-7', module: 'ai', profile: 'ai-7', approvals: true });
