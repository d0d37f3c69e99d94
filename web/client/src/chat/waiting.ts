import type { RunInfo, RunState } from '../reduce.js';
import type { Waiting } from './types.js';

/** The same list every time, for those who compare. */
const NOTHING: Waiting[] = [];

/** What a run waits for: questions first, then calls in the order in which the message shows them. */
export function waitingOf({ status, pendingToolCalls = [] }: RunInfo, { messages, interrupts }: Pick<RunState, 'messages' | 'interrupts'>): Waiting[] {
  if (status !== 'waiting' && status !== 'running') return NOTHING;
  const open: Waiting[] = interrupts.map((interrupt) => ({ kind: 'question', request: interrupt.request, interrupt }));
  for (const part of messages.at(-1)?.parts ?? []) {
    if (part.type !== 'tool') continue;
    const { call, name, input, state, approval } = part;
    if (state === 'approval-requested' && approval?.id) open.push({ kind: 'approval', request: approval.id, call, name, input });
    if (pendingToolCalls.includes(call)) open.push({ kind: 'client-tool', call, name, input });
  }
  return open.length > 0 ? open : NOTHING;
}
