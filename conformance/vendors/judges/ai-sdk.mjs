// The AI SDK's chat: the default transport reads the bytes, `AbstractChat` keeps the messages, as
// `useChat` of every framework does.

import { describe } from './describe.mjs';

export function aiSdk(module) {
  return async (fetch) => {
    const { AbstractChat, DefaultChatTransport } = await import(module);
    class Chat extends AbstractChat {}
    const state = chatState();
    const errors = [];
    const chat = new Chat({
      id: 'judge',
      state,
      transport: new DefaultChatTransport({ api: 'http://judge.invalid/api/chat', fetch }),
      onError: (error) => errors.push(describe(error)),
    });
    await chat.sendMessage({ text: 'go' });
    if (state.status !== 'ready' && errors.length === 0) errors.push(`the chat is left ${state.status}`);
    return { error: errors[0] ?? null, messages: state.messages };
  };
}

/** The plain form of what each framework's binding gives to `AbstractChat`. */
function chatState() {
  return {
    status: 'ready',
    error: undefined,
    messages: [],
    pushMessage(message) {
      this.messages = [...this.messages, message];
    },
    popMessage() {
      this.messages = this.messages.slice(0, -1);
    },
    replaceMessage(index, message) {
      this.messages = this.messages.with(index, structuredClone(message));
    },
    snapshot: (value) => structuredClone(value),
  };
}
