// AG-UI's `HttpAgent`: its whole pipeline from the bytes to the agent's messages.

import { describe } from './describe.mjs';

export function agUi(module) {
  return async (fetch) => {
    const { HttpAgent } = await import(module);
    const agent = new HttpAgent({ url: 'http://judge.invalid/agent', threadId: 'thread', fetch });
    const errors = [];
    try {
      await agent.runAgent(
        { runId: 'run' },
        // A RUN_ERROR reaches the subscriber only: `runAgent` resolves all the same.
        { onRunErrorEvent: ({ event }) => void errors.push(event.message) },
      );
    } catch (thrown) {
      errors.push(describe(thrown));
    }
    return { error: errors[0] ?? null, messages: agent.messages };
  };
}
