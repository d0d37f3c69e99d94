import { judge } from '../lib/judge.mjs';

judge('tanstack-1');
