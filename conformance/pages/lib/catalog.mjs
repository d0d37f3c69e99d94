// The pages: where each lies, whose packages it is made of, and what its library cannot do at all.

import { fileURLToPath } from 'node:url';

/** Libraries that keep nothing: what a reload shows is up to the page's own code. */
const NO_HISTORY = {
  'client tool, reloaded': 'the library loads no conversation',
  'stop, reloaded': 'the library loads no conversation',
  reload: 'the library loads no conversation',
  kill: 'the library reconnects to nothing',
  tabs: 'the library loads no conversation',
};

/** Where CopilotChat has what the other pages have buttons of their own for. */
const COPILOT_CHAT = {
  userMessage: '[data-testid=copilot-user-message]',
  controls: { stop: '[data-testid=copilot-send-button]', edit: '[data-testid=copilot-edit-button]' },
};

/** What a page of `folder` and its `file` is: by default one that asks for its history when it has a conversation. */
const page = (folder, file, packages, options = {}) => ({
  folder,
  file,
  packages,
  // Where it is served, if not under its name.
  path: undefined,
  history: true,
  recovers: 'by a reload',
  cannot: {},
  // What the console may say.
  expects: undefined,
  // Selectors, where the buttons are not the page's own.
  controls: {},
  userMessage: '.message.user',
  ...options,
});

const base = (name, packages, options) => page('./', `${name}.jsx`, packages, options);
const more = (name, packages, options, file = `${name}.jsx`) => page('more/', file, packages, options);

/** `demo` pages are also held to all that the demo agents show: see `suite.mjs`. */
export const PAGES = {
  'ai-5': more('ai-5', ['@ai-sdk/react-v2', 'ai-v5'], { cannot: { approval: 'ai 5 has no approvals' } }),
  'ai-6': base('ai-6', ['@ai-sdk/react-v3', 'ai-v6'], {
    demo: { shows: ['sources', 'files', 'data'], retracts: false, answered: true },
  }),
  'ai-7': base('ai-7', ['@ai-sdk/react', 'ai'], {
    demo: { shows: ['sources', 'files', 'data'], retracts: true, answered: true },
  }),
  'ai-7-vue': more('ai-7-vue', ['@ai-sdk/vue', 'ai'], {}, 'ai-7-vue.js'),
  'ai-7-svelte': more('ai-7-svelte', ['@ai-sdk/svelte', 'svelte'], {}, 'ai-7-svelte.js'),
  tanstack: base('tanstack', ['@tanstack/ai-react', '@tanstack/ai'], {
    demo: { shows: [], retracts: true, answered: false },
    recovers: 'by itself',
  }),
  'tanstack-1': base('tanstack-1', ['@tanstack/ai-react', '@tanstack/ai'], { recovers: 'by itself' }),
  'tanstack-0.2': more('tanstack-0.2', ['@tanstack/ai-react', '@tanstack/ai'], {
    history: false,
    cannot: {
      ...NO_HISTORY,
      approval: 'approving and denying send the same request',
      'no noise': 'the library has no events but chunks',
    },
  }),
  'ag-ui': more('ag-ui', ['@ag-ui/client'], { history: false, cannot: NO_HISTORY }),
  copilotkit: more('copilotkit', ['@copilotkit/react-core'], { ...COPILOT_CHAT }),
  'copilotkit-http': more('copilotkit-http', ['@copilotkit/react-core'], {
    ...COPILOT_CHAT,
    history: false,
    // `HttpAgent` has no `connect`.
    cannot: NO_HISTORY,
    expects: /`selfManagedAgents` is part of CopilotKit's Enterprise Intelligence tier/,
  }),
  'assistant-ui-ai-sdk': more('assistant-ui-ai-sdk', ['@assistant-ui/react', '@assistant-ui/react-ai-sdk'], {
    history: false,
    cannot: { ...NO_HISTORY, 'no noise': 'the runtime takes no callback for data' },
  }),
  'assistant-ui-ag-ui': more('assistant-ui-ag-ui', ['@assistant-ui/react', '@assistant-ui/react-ag-ui'], {
    history: false,
    cannot: { ...NO_HISTORY, object: 'the runtime shows no activities of AG-UI' },
  }),
  llamaindex: more('llamaindex', ['@llamaindex/chat-ui', 'ai-v5'], {
    history: false,
    cannot: { ...NO_HISTORY, approval: 'ai 5 has no approvals', edit: 'ChatSection edits no message' },
  }),
  mui: base('mui', ['@mui/x-chat'], {
    demo: { shows: ['sources', 'files', 'data'], retracts: true, answered: true },
    recovers: 'by itself',
    cannot: {
      edit: 'ChatBox edits no message',
      clear: 'ChatBox clears no conversation',
      'no noise': 'ChatBox shows the parts that it gets',
    },
  }),
};

/** A page of `examples/web`, with the packages of `folder`. */
const example = (name, folder, { script = 'main.jsx', ...options } = {}) =>
  page(folder, fileURLToPath(new URL(`../../../examples/web/${name}/${script}`, import.meta.url)), [], {
    path: `/examples/${name}/`,
    ...options,
  });

/** Pages for separate tests, which are not rows of the table. */
const OTHERS = {
  'mui-faults': base('mui-faults', ['@mui/x-chat']),
  // Through its single route a request does not show in its address what it asks for.
  'copilotkit-threads': more('copilotkit-threads', ['@copilotkit/react-core'], { ...COPILOT_CHAT, history: false }),
  'example ai-sdk': example('ai-sdk', './'),
  'example quickstart': example('ai-sdk', './', { script: 'quickstart.jsx', path: '/examples/ai-sdk/quickstart.html' }),
  'example tanstack': example('tanstack', './'),
  'example mui': example('mui', './'),
  'example kortyx': example('kortyx', './'),
  'example plain': example('plain', './', { script: 'main.js' }),
  'example assistant-ui': example('assistant-ui', 'more/'),
  'example copilotkit': example('copilotkit', 'more/', COPILOT_CHAT),
  'example responses': example('responses', 'more/', { history: false }),
};

/** A page by its name. */
export function pageOf(name) {
  return PAGES[name] ?? OTHERS[name];
}

/** The pages of the short run, which is part of `cargo xtask test`. */
export const SHORT = ['ai-6', 'ai-7', 'tanstack', 'mui'];
