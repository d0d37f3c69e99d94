import { judge } from '../lib/judge.mjs';

judge('llamaindex');
