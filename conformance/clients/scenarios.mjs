// What is tried with every client. The demo agents always say the same, so one expectation serves all clients: each is held
// to the parts of it that its messages can show.
//
// `steps` are calls of a driver, `turns` is how many runs they make (1), `tools` are the page's own with their outputs,
// `needs` is something that a client may not have: its `cannot` says why. `expect` is the last answer, flattened; `error` is a part of the error
// that the client must show; `dead` is the text of an attempt that is taken back; `stops` stops the first step in its
// middle, whose thought and text begin like `thinks` and `begins`.

import chat from './scenarios/chat.mjs';
import email from './scenarios/email.mjs';
import flaky from './scenarios/flaky.mjs';
import table from './scenarios/table.mjs';
import tools from './scenarios/tools.mjs';

export const scenarios = [...chat, ...tools, ...table, ...email, ...flaky];
