// MUI X Chat's `ChatProvider` under jsdom, with our adapter (`@headwater/mui`), which reconnects by itself.

import { load } from '../../vendors/load.mjs';
import { JSDOM } from 'jsdom';
import { endpoint } from '../lib/http.mjs';
import { loadTypeScript } from '../lib/typescript.mjs';
import { until } from '../lib/until.mjs';

export default {
  name: 'mui',
  family: 'mui',
  dialect: 'mui',
  shows: ['text', 'reasoning', 'tools', 'sources', 'files', 'data'],
  cannot: {},
  /** While it waits for a person its stream stays open, so that whatever sends does not end. */
  staysOpen: true,
  async open(where) {
    const React = await page();
    const [{ createRoot }, mui, { createHeadwaterAdapter }] = await Promise.all([
      load('react-dom/client'),
      load('@mui/x-chat-headless'),
      loadTypeScript('mui/src/index.ts'),
    ]);
    return new Driver(React, createRoot, mui, createHeadwaterAdapter, { fetch: globalThis.fetch, ...where });
  },
};

let loaded;

/** React looks for a document when it is loaded. */
function page() {
  if (!loaded) {
    const { window } = new JSDOM('<!doctype html><div id="root"></div>', { url: 'http://page.invalid/' });
    Object.assign(globalThis, { window, document: window.document });
    // Newer Nodes have one of their own.
    globalThis.navigator ??= window.navigator;
    loaded = load('react');
  }
  return loaded;
}

class Driver {
  #where;
  #root;
  #adapter;
  #chat;
  #mounted = false;
  #listed = false;
  #sending = null;
  #tools = new Map();

  constructor({ createElement }, createRoot, { ChatProvider, useChat }, createHeadwaterAdapter, where) {
    this.#where = where;
    const url = endpoint(where, 'mui').split('?')[0];
    this.#adapter = createHeadwaterAdapter({ url, agent: where.agent, fetch: where.fetch });
    const subscribe = (input) => {
      this.#mounted = true;
      return this.#adapter.subscribe(input);
    };
    // MUI puts the history in the place of all that it shows when it arrives, so a person writes when it is there.
    const listMessages = async (input) => {
      try {
        return await this.#adapter.listMessages(input);
      } finally {
        setTimeout(() => (this.#listed = true));
      }
    };
    const adapter = { ...this.#adapter, subscribe, listMessages };
    const Inside = () => {
      this.#chat = useChat();
      return null;
    };
    this.#root = createRoot(document.createElement('div'));
    this.#root.render(
      createElement(
        ChatProvider,
        { adapter, initialActiveConversationId: where.session, onError: () => {}, streamFlushInterval: 0 },
        createElement(Inside),
      ),
    );
  }

  registerTool(name, output) {
    this.#tools.set(name, output);
  }

  async send(text) {
    await until('the provider and the history', () => this.#mounted && this.#listed && this.#chat);
    const before = this.#chat.messages.length;
    this.#sending = this.#chat.sendMessage({ conversationId: this.#where.session, parts: [{ type: 'text', text }] });
    await until('the message to be sent', () => this.#chat.messages.length > before);
    await this.#rest();
  }

  async approve(approved, reason) {
    const part = this.#tool('approval-requested');
    await this.#chat.addToolApprovalResponse({ id: part.toolInvocation.approvalId, approved, reason });
    await this.#rest();
  }

  async answer(answer) {
    const { toolCallId } = this.#question().toolInvocation;
    this.#answered.add(toolCallId);
    await this.#adapter.addToolOutput({ toolCallId, output: answer });
    await this.#rest();
  }

  async stop() {
    this.#adapter.stop();
  }

  async resume() {}

  messages() {
    return this.#chat?.messages ?? [];
  }

  error() {
    return this.#chat?.error?.message ?? null;
  }

  close() {
    this.#root.unmount();
  }

  #answered = new Set();

  #parts() {
    return this.#chat.messages.flatMap((message) => message.parts);
  }

  #tool(state) {
    return this.#parts().find((part) => part.toolInvocation?.state === state);
  }

  #question() {
    return this.#parts().find(
      ({ toolInvocation: call }) => call?.toolName === 'ask_user' && call.state === 'input-available' && !this.#answered.has(call.toolCallId),
    );
  }

  /** At rest the stream has ended, or it waits for the person. */
  async #rest() {
    await until(
      () => `rest; MUI's last message is ${JSON.stringify(this.#chat.messages.at(-1))?.slice(0, 300)}`,
      async () => {
        await this.#execute();
        if (!this.#chat.isStreaming) return true;
        return this.#tool('approval-requested') || this.#question();
      },
    );
    if (!this.#chat.isStreaming) await this.#sending;
  }

  async #execute() {
    const mine = this.#parts().find(
      ({ toolInvocation: call }) => call?.state === 'input-available' && this.#tools.has(call.toolName) && !this.#answered.has(call.toolCallId),
    );
    if (!mine) return;
    const { toolCallId, toolName } = mine.toolInvocation;
    this.#answered.add(toolCallId);
    await this.#adapter.addToolOutput({ toolCallId, output: this.#tools.get(toolName) });
  }
}
