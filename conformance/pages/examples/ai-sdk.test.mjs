import { judgeExample } from '../lib/examples.mjs';

judgeExample('ai-sdk');
