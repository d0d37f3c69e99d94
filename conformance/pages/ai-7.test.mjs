import { suite } from './lib/suite.mjs';

suite('ai-7', { shows: ['sources', 'files', 'data'], retracts: true, answered: true });
