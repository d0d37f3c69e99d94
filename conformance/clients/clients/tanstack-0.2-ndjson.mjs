// The same client over NDJSON, its other connection.

import { tanstack02 } from './tanstack-0.2.mjs';

export default tanstack02({ name: 'tanstack-0.2-ndjson', connection: 'fetchHttpStream' });
