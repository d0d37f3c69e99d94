// The scenarios for every client. The demo agents are deterministic, so one expectation serves all clients:
// each is compared with the parts that its messages can show.
//
// `steps` are calls of a driver, `turns` is how many runs they make (1), `tools` are the page's own with
// their outputs, `needs` is a feature that a client may lack: its `cannot` says why. `expect` is the last
// answer, flattened; `error` is a part of the error that the client must show; `dead` is the text of a
// retracted attempt; `stops` stops the first step in its middle, whose reasoning and text begin like `thinks`
// and `begins`.

import chat from './scenarios/chat.mjs';
import email from './scenarios/email.mjs';
import flaky from './scenarios/flaky.mjs';
import table from './scenarios/table.mjs';
import tools from './scenarios/tools.mjs';

export const scenarios = [...chat, ...tools, ...table, ...email, ...flaky];
