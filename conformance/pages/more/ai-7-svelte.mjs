import { judge } from '../lib/judge.mjs';

judge('ai-7-svelte');
