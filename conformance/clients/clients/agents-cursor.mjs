// The reader of the agents contract that comes back with `Last-Event-ID` and takes retracted attempts back.

import { agents } from './agents.mjs';

export default agents({ name: 'agents-cursor', cursor: true });
