// The AI SDK: `AbstractChat` with `DefaultChatTransport`, as `useChat` of every framework uses them. `ai-5`, `ai-6` and
// `ai-7` are this with their own package.

import { chatState } from '../../vendors/chat-state.mjs';
import { load } from '../../vendors/load.mjs';
import { endpoint, stop } from '../lib/http.mjs';
import { until } from '../lib/until.mjs';

export function aiSdk({ name, module, profile, approvals, forgets }) {
  return {
    name,
    family: 'ai-sdk',
    dialect: 'ai-sdk',
    profile,
    shows: ['text', 'reasoning', 'tools', 'sources', 'files', 'data'],
    cannot: approvals ? {} : { approval: 'it has no approvals', everything: 'it has no approvals' },
    async open(where) {
      return new Driver(await load(module), { fetch: globalThis.fetch, ...where, profile, forgets });
    },
  };
}

class Driver {
  #chat;
  #state = chatState();
  #where;
  #asked = 0;
  #tools = new Map();

  constructor(sdk, where) {
    this.#where = where;
    class Chat extends sdk.AbstractChat {}
    const api = endpoint(where, 'ai-sdk');
    const counting = (...request) => {
      this.#asked += 1;
      return where.fetch(...request);
    };
    const ready = [
      sdk.lastAssistantMessageIsCompleteWithToolCalls,
      sdk.lastAssistantMessageIsCompleteWithApprovalResponses,
    ].filter(Boolean);
    this.#chat = new Chat({
      id: where.session,
      state: this.#state,
      transport: new sdk.DefaultChatTransport({ api, fetch: counting }),
      sendAutomaticallyWhen: (chat) => ready.some((complete) => complete(chat)),
      onError: () => {},
      onToolCall: ({ toolCall }) => {
        const output = this.#tools.get(toolCall.toolName);
        // Awaiting it would wait for the stream that waits for this.
        if (output) void this.#chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output });
      },
    });
  }

  /** The page's own tool `name` gives `output`, whenever it is called. */
  registerTool(name, output) {
    this.#tools.set(name, output);
  }

  async send(text) {
    await this.#chat.sendMessage({ text });
    await this.#rest();
  }

  async approve(approved, reason) {
    const part = this.#parts().find((part) => part.state === 'approval-requested');
    if (!part) throw new Error('no call waits for approval');
    await this.#automatic(() => this.#chat.addToolApprovalResponse({ id: part.approval.id, approved, reason }));
  }

  /** A question is a call of the tool `ask_user`, which the page executes: its output is the answer. */
  async answer(answer) {
    const asked = this.#parts().find((part) => part.type === 'tool-ask_user' && part.state === 'input-available');
    if (!asked) throw new Error('nothing was asked');
    const output = { tool: 'ask_user', toolCallId: asked.toolCallId, output: answer };
    await this.#automatic(() => this.#chat.addToolOutput(output));
  }

  async stop() {
    await stop(this.#where);
  }

  async regenerate() {
    await this.#chat.regenerate();
    await this.#rest();
  }

  async resume() {
    const last = this.#chat.lastMessage;
    if (this.#where.forgets && last?.role === 'assistant') this.#chat.messages = this.#chat.messages.slice(0, -1);
    await this.#chat.resumeStream();
    await this.#rest();
    // What was cut before the server had it must be sent again; the same message is never a second turn.
    if (this.#chat.lastMessage?.role === 'user') {
      await this.#chat.sendMessage();
      await this.#rest();
    }
  }

  messages() {
    return this.#state.messages;
  }

  error() {
    return this.#state.error?.message ?? null;
  }

  close() {}

  #parts() {
    return this.#state.messages.at(-1)?.parts ?? [];
  }

  /** Nothing awaits what the chat does on its own. */
  async #automatic(action) {
    const before = this.#asked;
    await action();
    await until('the automatic request', () => this.#asked > before);
    await this.#rest();
  }

  #rest() {
    return until(
      () => `rest, the chat is ${this.#state.status}`,
      async () => {
        if (!['ready', 'error'].includes(this.#state.status)) return false;
        const before = this.#asked;
        // An automatic request follows a few turns of the loop after the end of the one before.
        for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        return this.#asked === before && ['ready', 'error'].includes(this.#state.status);
      },
    );
  }
}
