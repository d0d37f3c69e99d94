// The reader of the agents contract that resumes with `Last-Event-ID`, and reads the run again when an
// attempt failed.

import { agents } from './agents.mjs';

export default agents({ name: 'agents-cursor', cursor: true });
