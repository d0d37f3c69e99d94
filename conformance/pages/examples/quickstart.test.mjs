import { judgeExample } from '../lib/examples.mjs';

judgeExample('quickstart', { first: ['text', 'two turns', 'reload'] });
