import { judge } from '../lib/judge.mjs';

judge('assistant-ui-ag-ui');
