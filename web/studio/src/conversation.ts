// A chat of the studio: that of `@headwater/client`, and beside it what its connection delivered.

import { applyPatch, createChat, type Chat, type NativeRecord } from '@headwater/client';
import { useEffect, useState } from 'preact/hooks';
import { headers, reportError } from './api';
import { CuttableFetch } from './cuttable-fetch';
import { RunFacts } from './run-facts';

/** What the connection of a chat delivered of one run. */
export interface Delivery {
  run: string;
  connections: number;
  cuts: number;
  records: NativeRecord[];
}

export class Conversation {
  readonly chat: Chat;
  /** Made in this tab, and nothing was sent yet: the server does not know it. */
  isNew: boolean;
  delivery: Delivery | undefined;
  readonly #network = new CuttableFetch((run) => {
    if (this.delivery?.run !== run) this.delivery = { run, connections: 0, cuts: 0, records: [] };
    this.delivery.connections += 1;
  });

  constructor(
    readonly session: string,
    agent: string | undefined,
    readonly facts: RunFacts,
    isNew: boolean,
  ) {
    this.isNew = isNew;
    this.chat = createChat({
      url: '',
      session,
      agent,
      headers,
      fetch: this.#network.fetch,
      applyPatch,
      // A long answer is parsed anew each time.
      flushInterval: 32,
      maxRetries: 1000,
      retryDelay: (attempt) => Math.min(5000, 250 * 2 ** Math.min(attempt, 5)) * (0.75 + Math.random() / 2),
      onError: reportError,
      onChunk: (record) => {
        if (!record.replay) this.delivery?.records.push(record);
        const run = this.delivery?.run;
        if (run) this.facts.add(run, [record]);
      },
    });
  }

  set agent(agent: string | undefined) {
    this.chat.options = { ...this.chat.options, agent };
  }

  get agent(): string | undefined {
    return this.chat.options.agent;
  }

  /** Breaks the connection, as a tunnel or a proxy would. The run goes on. */
  cut(): boolean {
    const cut = this.#network.cut();
    if (cut && this.delivery) this.delivery.cuts += 1;
    return cut;
  }

  close(): void {
    this.chat.detach();
  }
}

/** The snapshot of a chat; the component is drawn again when it changes. */
export function useSnapshot(chat: Chat) {
  const [, draw] = useState({});
  useEffect(() => {
    draw({});
    return chat.subscribe(() => draw({}));
  }, [chat]);
  return chat.getSnapshot();
}

/** A name for a session. `randomUUID` exists only where the page is served safely. */
export const newSession = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
