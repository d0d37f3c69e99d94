import { judgeExample } from '../lib/examples.mjs';

judgeExample('mui');
