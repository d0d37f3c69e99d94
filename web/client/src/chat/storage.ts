import { HeadwaterError } from '../errors.js';
import { newId } from './id.js';

/** Where a chat keeps the name of its session: `sessionStorage`, `localStorage`, or anything like them. */
export interface ChatStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

export interface SessionOptions {
  url: string;
  /** The agent; otherwise the default of the server. */
  agent?: string | undefined;
  /** The session; otherwise the one in `storage`, or a new one. */
  session?: string | undefined;
  /** Where the name of the session is kept, so that a reload finds it: `() => sessionStorage`. */
  storage?: ChatStorage | (() => ChatStorage) | undefined;
  /** The key in `storage`; by default made of the URL and the agent. */
  storageKey?: string | undefined;
}

/**
 * The session of a chat: the given one, the kept one, or a new one. Storage that is full or forbidden is reported, and
 * the chat continues without it; a reload will not find the session then.
 */
export function openSession(
  { session, storage, url, agent = '', storageKey = `headwater ${url} ${agent}` }: SessionOptions,
  onError: (error: HeadwaterError) => void,
): string {
  try {
    // Reading `window.localStorage` throws by itself where storage is forbidden: hence the function.
    const store = typeof storage === 'function' ? storage() : storage;
    session ||= store?.getItem(storageKey) || newId();
    store?.setItem(storageKey, session);
  } catch (error) {
    // On a server that renders the page there is no storage to speak of.
    if (!(error instanceof ReferenceError)) onError(new HeadwaterError('storage', 'cannot store the session'));
  }
  return session || newId();
}
