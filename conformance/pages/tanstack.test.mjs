import { suite } from './lib/suite.mjs';

suite('tanstack', { shows: [], retracts: true, answered: false });
