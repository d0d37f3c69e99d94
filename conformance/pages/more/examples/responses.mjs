import { judgeExample } from '../../lib/examples.mjs';

// The headers that npm `openai` sends from a browser.
process.env.HEADWATER_CORS_HEADERS = '*';

judgeExample('responses');
