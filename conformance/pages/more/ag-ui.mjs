import { judge } from '../lib/judge.mjs';

judge('ag-ui');
