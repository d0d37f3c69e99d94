import { createChat, type Chat, type ChatOptions, type ChatSnapshot } from '@headwater/client';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';

type Actions = Pick<
  Chat,
  'send' | 'stop' | 'answer' | 'approve' | 'addToolOutput' | 'regenerate' | 'edit' | 'rollBack' | 'fork' | 'variants' | 'select' | 'sync' | 'loadOlder'
>;

/** What `useChat` gives: the snapshot of the chat, and what can be done with it. */
export interface UseChat extends ChatSnapshot, Actions {
  /** The chat itself, for `useInterrupts` and `chat.queue`. */
  chat: Chat;
}

/**
 * A conversation with an agent. It is loaded when the component mounts, left when it unmounts, and its run continues.
 *
 * Another `url`, `agent` or `session` is another chat. Callbacks and tools may change with every render.
 *
 * @example
 * ```tsx
 * const { messages, status, send } = useChat({ url: '', agent: 'chat', storage: () => sessionStorage });
 * ```
 */
export function useChat(options: ChatOptions): UseChat {
  const { url, agent, session } = options;
  const key = JSON.stringify([url, agent, session]);
  const [held, hold] = useState(() => ({ key, chat: createChat(options) }));
  let { chat } = held;
  if (held.key !== key) {
    chat = createChat(options);
    hold({ key, chat });
  }

  useEffect(() => {
    chat.options = { ...options, session: chat.getSnapshot().session };
  });
  useEffect(() => {
    void chat.load();
    return () => chat.detach();
  }, [chat]);

  const snapshot = useSyncExternalStore(chat.subscribe, chat.getSnapshot, chat.getSnapshot);
  const actions = useMemo(() => bind(chat), [chat]);
  return { ...snapshot, ...actions, chat };
}

/** Functions that keep their identity between renders, and can be taken out of the object. */
function bind(chat: Chat): Actions {
  const names = [
    'send', 'stop', 'answer', 'approve', 'addToolOutput', 'regenerate', 'edit', 'rollBack', 'fork', 'variants', 'select', 'sync', 'loadOlder',
  ] as const;
  return Object.fromEntries(names.map((name) => [name, (chat[name] as () => unknown).bind(chat)])) as unknown as Actions;
}
