import { judge } from '../lib/judge.mjs';

judge('tanstack-0.2');
