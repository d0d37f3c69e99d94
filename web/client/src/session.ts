/**
 * What other pages do in the session of a chat, as they do it.
 *
 * @packageDocumentation
 */
import type { Chat } from './chat/chat.js';
import { followStream } from './chat/follow.js';
import { Http } from './chat/http.js';
import type { Session } from './chat/session-api.js';
import { parseEvent } from './read-stream.js';

/**
 * Keeps a chat in step with other pages that have the same session open: a turn that one of them begins, edits, undoes or
 * replaces is seen at once. It reads the stream of the session while the chat reads no run and the page is visible, so
 * that a page never has more than one connection open.
 *
 * The first message makes the session. A chat that has sent none asks for nothing here; if another page sends it, the chat
 * sees it when its page becomes visible, or with `chat.sync()`.
 *
 * @example
 * ```ts
 * const chat = createChat({ url, storage: () => localStorage, watch: watchSession });
 * ```
 */
export function watchSession(chat: Chat, subscribe = chat.subscribe): () => void {
  let watching: AbortController | undefined;
  const update = () => {
    const { connection, messages, run, status } = chat.getSnapshot();
    // The session of a fork has messages before it has a run.
    const isKnown = run || messages.length > 0;
    const isIdle = isKnown && connection === 'closed' && status !== 'submitted' && globalThis.document?.visibilityState !== 'hidden';
    if (!isIdle === !watching) return;
    watching?.abort();
    watching = isIdle ? new AbortController() : undefined;
    // It ends when it is aborted, or when the server refuses, which the next action of the chat reports.
    if (watching) void readSession(chat, watching.signal).catch(() => {});
  };
  const unsubscribe = subscribe(update);
  globalThis.document?.addEventListener('visibilitychange', update);
  update();
  return () => {
    unsubscribe();
    globalThis.document?.removeEventListener('visibilitychange', update);
    watching?.abort();
  };
}

function readSession(chat: Chat, signal: AbortSignal): Promise<void> {
  const { session } = chat.getSnapshot();
  const onEvent = (event: { data: string }) => {
    const { lastRun, activeRun, waitingRun, queued } = parseEvent<Session>(event);
    const { run, queue } = chat.getSnapshot();
    if (activeRun || waitingRun || (lastRun ?? undefined) !== run) void chat.sync();
    else if (queued !== queue.length) void chat.queue.list();
  };
  return followStream(new Http(() => chat.options), ['sessions', session, 'events'], () => ({}), signal, onEvent, () => {}, { ...chat.options, maxRetries: Infinity });
}
