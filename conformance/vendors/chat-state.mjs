// What a framework's binding gives to `AbstractChat` of the AI SDK, in its plain form.

export function chatState() {
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
