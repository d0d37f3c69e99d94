import { suite } from './lib/suite.mjs';

suite('ai-6', { shows: ['sources', 'files', 'data'], retracts: false, answered: true });
