import { ChatStream, type ChatStreamOptions, type ChatStreamSnapshot } from '@headwater/client/agents';
import { useEffect, useState, useSyncExternalStore } from 'react';

/** What `useChatStream` gives. */
export interface UseChatStream extends ChatStreamSnapshot {
  sendMessage: ChatStream['sendMessage'];
  setMessages: ChatStream['setMessages'];
  /** Stops reading. The run continues. */
  abort: ChatStream['abort'];
}

/**
 * A chat over the agents contract: the page keeps the messages and sends all of them.
 *
 * @example
 * ```tsx
 * const { messages, status, error, sendMessage } = useChatStream({ api: '/api/chat', initialMessages: [] });
 * ```
 */
export function useChatStream(options: ChatStreamOptions): UseChatStream {
  const [stream] = useState(() => new ChatStream(options));
  useEffect(() => {
    stream.options = options;
  });
  useEffect(() => () => stream.abort(), [stream]);
  const snapshot = useSyncExternalStore(stream.subscribe, stream.getSnapshot, stream.getSnapshot);
  const { sendMessage, setMessages, abort } = stream;
  return { ...snapshot, sendMessage, setMessages, abort };
}
