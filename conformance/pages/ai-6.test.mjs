import { judge } from './lib/judge.mjs';

judge('ai-6');
