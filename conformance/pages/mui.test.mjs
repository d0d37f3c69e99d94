import { suite } from './lib/suite.mjs';

suite('mui', { shows: ['sources', 'files', 'data'], retracts: true, answered: true });
