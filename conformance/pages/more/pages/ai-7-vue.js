// A page of the AI SDK for Vue, as its quick start and its guides on tools, approvals and resuming have it.

import { Chat } from '@ai-sdk/vue';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { createApp, h, ref } from 'vue';
import { agent, conversation, locate, receive, server } from '../../pages/settings.js';

async function history() {
  const response = await fetch(`${server}/v1/sessions/${conversation}/messages?dialect=ai-sdk`);
  return response.ok ? (await response.json()).messages : [];
}

const chat = new Chat({
  ...(conversation && { id: conversation, messages: await history() }),
  transport: new DefaultChatTransport({ api: `${server}/v1/ai-sdk/${agent}/chat?profile=ai-7` }),
  sendAutomaticallyWhen: (chat) =>
    lastAssistantMessageIsCompleteWithToolCalls(chat) || lastAssistantMessageIsCompleteWithApprovalResponses(chat),
  onToolCall({ toolCall }) {
    if (toolCall.toolName !== 'get_location') return;
    // Awaiting it here would wait for itself.
    chat.addToolOutput({ tool: 'get_location', toolCallId: toolCall.toolCallId, output: locate() });
  },
  onData: ({ type }) => receive(type),
});

const button = (name, onClick) => h('button', { onClick }, name);
const text = (part) => h('p', { class: 'text' }, part.text);

const SHOW = {
  text,
  reasoning: (part) => h('p', { class: 'reasoning' }, part.text),
  'data-table': ({ data: { title, columns = [], rows = [] } }) =>
    h('article', { class: 'card grid' }, [
      h('h3', title),
      h('table', [
        h('thead', [h('tr', columns.map((column) => h('th', column)))]),
        h('tbody', rows.map((row) => h('tr', row.map((cell) => h('td', cell))))),
      ]),
    ]),
  'data-email.compose': ({ data }) => h('article', { class: 'card draft' }, [h('h3', data.subject), h('p', data.body)]),
  'tool-ask_user': ({ toolCallId, input, output }) =>
    h('section', { class: 'card question' }, [
      h('p', input?.question),
      output === undefined
        ? (input?.options ?? []).map(({ id, label }) =>
            button(label, () => chat.addToolOutput({ tool: 'ask_user', toolCallId, output: id })),
          )
        : h('p', `Answered: ${output}`),
    ]),
};

function tool({ type, state, approval, output, errorText }) {
  const name = type.slice('tool-'.length);
  if (state === 'approval-requested') {
    const decide = (approved) => chat.addToolApprovalResponse({ id: approval.id, approved });
    return h('section', { class: 'card question' }, [
      h('p', `Allow ${name}?`),
      button('Approve', () => decide(true)),
      button('Deny', () => decide(false)),
    ]);
  }
  return h('section', { class: 'card tool' }, [h('code', name), h('pre', errorText ?? JSON.stringify(output))]);
}

const edited = ref(null);

function edit({ id, parts }) {
  if (edited.value !== id) return button('Edit', () => (edited.value = id));
  const onSubmit = (event) => {
    event.preventDefault();
    edited.value = null;
    chat.sendMessage({ text: event.currentTarget.elements.edited.value, messageId: id });
  };
  return h('form', { onSubmit }, [h('input', { name: 'edited', 'aria-label': 'Edited message', value: parts[0].text })]);
}

function message(message) {
  const parts = message.parts.map((part) => SHOW[part.type]?.(part) ?? (part.type.startsWith('tool-') ? tool(part) : null));
  return h('section', { key: message.id, class: `message ${message.role}` }, [...parts, message.role === 'user' ? edit(message) : null]);
}

function composer() {
  const onSubmit = (event) => {
    event.preventDefault();
    const field = event.currentTarget.elements.text;
    chat.sendMessage({ text: field.value });
    field.value = '';
  };
  const busy = chat.status === 'submitted' || chat.status === 'streaming';
  return h('form', { onSubmit }, [h('input', { name: 'text', 'aria-label': 'Message' }), h('button', { disabled: busy }, 'Send')]);
}

createApp({
  setup: () => () =>
    h('main', [
      chat.messages.map(message),
      chat.error && h('p', { class: 'error' }, chat.error.message),
      h('nav', [
        button('Stop', () => chat.stop()),
        button('Regenerate', () => chat.regenerate()),
        button('Clear', () => (chat.messages = [])),
      ]),
      composer(),
    ]),
}).mount('#root');

if (conversation) void chat.resumeStream();
