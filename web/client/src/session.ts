/**
 * What other pages do in the session of a chat, as they do it.
 *
 * @packageDocumentation
 */
import type { Chat } from './chat/chat.js';
import { followStream } from './chat/follow.js';
import { Http } from './chat/http.js';
import type { Session } from './chat/session-api.js';
import { backoff, pause } from './chat/wait.js';
import { asError } from './errors.js';
import { parseEvent } from './read-stream.js';

/** A session that is not there yet is asked for as seldom as a server that failed so often. */
const PATIENCE = 10;

/**
 * Keeps a chat in step with other pages that have the same session open: a turn that one of them begins, edits, undoes or
 * replaces is seen at once. It reads the stream of the session while the chat reads no run and the page is visible, so
 * that a page never has more than one connection open.
 *
 * @example
 * ```ts
 * const chat = createChat({ url, storage: () => localStorage, watch: watchSession });
 * ```
 */
export function watchSession(chat: Chat, subscribe = chat.subscribe): () => void {
  let watching: AbortController | undefined;
  const update = () => {
    const { connection, status } = chat.getSnapshot();
    const isIdle = connection === 'closed' && status !== 'submitted' && globalThis.document?.visibilityState !== 'hidden';
    if (isIdle === !!watching) return;
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

async function readSession(chat: Chat, signal: AbortSignal): Promise<void> {
  const { session } = chat.getSnapshot();
  const onEvent = (event: { data: string }) => {
    const { lastRun, activeRun, waitingRun, queued } = parseEvent<Session>(event);
    const { run, queue } = chat.getSnapshot();
    if (activeRun || waitingRun || (lastRun ?? undefined) !== run) void chat.sync();
    else if (queued !== queue.length) void chat.queue.list();
  };
  for (;;) {
    try {
      await followStream(new Http(() => chat.options), ['sessions', session, 'events'], () => ({}), signal, onEvent, () => {}, { ...chat.options, maxRetries: Infinity });
    } catch (error) {
      signal.throwIfAborted();
      // The first message, of whichever page, makes the session.
      if (asError(error).code !== 'session.unknown') throw error;
      await pause((chat.options.retryDelay ?? backoff)(PATIENCE), signal);
    }
  }
}
