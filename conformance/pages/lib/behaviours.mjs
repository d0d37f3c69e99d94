// What people expect of a chat page, whatever it is built with. Each behaviour is one test of every page whose library has it,
// and one column of the table in docs/dialects.md.

import { answers } from './behaviours/answers.mjs';
import { changes } from './behaviours/changes.mjs';
import { endurance } from './behaviours/endurance.mjs';
import { visitors } from './behaviours/visitors.mjs';

/** Each is `{ name, title, check }`: the column, the end of the test's name, and the test itself. */
export const BEHAVIOURS = [...answers, ...changes, ...endurance, ...visitors];
