// The pages: where each lies, whose packages it is made of, and what its library cannot do at all.

/** Libraries that keep nothing: what a reload shows is up to the page's own code. */
const NO_HISTORY = {
  'client tool, reloaded': 'the library loads no conversation',
  'stop, reloaded': 'the library loads no conversation',
  reload: 'the library loads no conversation',
  kill: 'the library reconnects to nothing',
  tabs: 'the library loads no conversation',
};

/** What a page of `folder` and its `file` is: by default one that asks for its history when it has a conversation. */
const page = (folder, file, packages, options = {}) => ({
  folder,
  file,
  packages,
  history: true,
  recovers: 'by a reload',
  cannot: {},
  controls: {},
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
  tanstack: base('tanstack', ['@tanstack/ai-react', '@tanstack/ai'], {
    demo: { shows: [], retracts: true, answered: false },
    recovers: 'by itself',
  }),
  'tanstack-0.2': more('tanstack-0.2', ['@tanstack/ai-react', '@tanstack/ai'], {
    history: false,
    cannot: {
      ...NO_HISTORY,
      approval: 'approving and denying send the same request',
      'no noise': 'the library has no events but chunks',
    },
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

/** The pages of the short run, which is part of `cargo xtask test`. */
export const SHORT = ['ai-6', 'ai-7', 'tanstack', 'mui'];
