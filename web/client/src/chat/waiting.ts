import type { RunInfo, RunState } from '../reduce.js';
import type { Waiting } from './types.js';

/** The same list every time, for those who compare. */
const NOTHING: Waiting[] = [];

/** What a run waits for, in the order in which its message shows it. */
export function waitingOf({ status, pendingToolCalls = [] }: RunInfo, messages: RunState['messages']): Waiting[] {
  if (status !== 'waiting' && status !== 'running') return NOTHING;
  const open: Waiting[] = [];
  for (const part of messages.at(-1)?.parts ?? []) {
    if (part.type === 'question' && part.state === 'open') open.push({ kind: 'question', request: part.interrupt.request, interrupt: part.interrupt });
    if (part.type !== 'tool') continue;
    const { call, name, input, state, approval } = part;
    const tool = { call, name, input };
    if (state === 'approval-requested' && approval?.id) open.push({ kind: 'approval', request: approval.id, ...tool });
    if (pendingToolCalls.includes(call)) open.push({ kind: 'client-tool', ...tool });
  }
  return open.length > 0 ? open : NOTHING;
}
