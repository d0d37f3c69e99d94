// The reader of the agents contract that continues with `Last-Event-ID`, and reads the run anew when an attempt failed.

import { agents } from './agents.mjs';

export default agents({ name: 'agents-cursor', cursor: true });
