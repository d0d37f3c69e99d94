import { judgeExample } from '../../lib/examples.mjs';

judgeExample('assistant-ui');
