import { judgeExample } from '../lib/examples.mjs';

judgeExample('kortyx', { cannot: { 'client tool': 'the protocol has no tools of the page' } });
