import type { Chat, Waiting } from '@headwater/client';
import { useMemo, useSyncExternalStore } from 'react';

/** What a chat waits for, and how to answer it. */
export interface UseInterrupts {
  /** Questions, approvals and tools of the page that wait. */
  waiting: readonly Waiting[];
  answer: Chat['answer'];
  approve: Chat['approve'];
  addToolOutput: Chat['addToolOutput'];
}

/**
 * What the run of a chat waits for. It renders only when that changes, not with every word of an answer.
 *
 * @example
 * ```tsx
 * const { waiting, approve } = useInterrupts(chat);
 * return waiting.map((open) => open.kind === 'approval' && <button onClick={() => approve(open.request)}>Allow {open.name}</button>);
 * ```
 */
export function useInterrupts(chat: Chat): UseInterrupts {
  const read = () => chat.getSnapshot().waiting;
  const waiting = useSyncExternalStore(chat.subscribe, read, read);
  return useMemo(
    () => ({
      waiting,
      answer: chat.answer.bind(chat),
      approve: chat.approve.bind(chat),
      addToolOutput: chat.addToolOutput.bind(chat),
    }),
    [chat, waiting],
  );
}
