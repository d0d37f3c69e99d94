import { judgeExample } from './lib/examples.mjs';

judgeExample('ai-sdk');
judgeExample('tanstack');
judgeExample('mui');
judgeExample('kortyx', { cannot: { 'client tool': 'the protocol has no tools of the page' } });
judgeExample('plain');
