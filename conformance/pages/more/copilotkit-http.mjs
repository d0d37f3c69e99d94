import { judge } from '../lib/judge.mjs';

judge('copilotkit-http');
