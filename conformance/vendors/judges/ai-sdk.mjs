// The AI SDK's chat: the default transport reads the bytes, `AbstractChat` keeps the messages, as
// `useChat` of every framework does.

import { chatState } from '../chat-state.mjs';
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
