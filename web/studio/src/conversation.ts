// A chat of the studio: that of `@headwater/client`, and beside it what its connection delivered.

import { applyPatch, createChat, type Chat, type Message, type NativeRecord } from '@headwater/client';
import { watchSession } from '@headwater/client/session';
import { useEffect, useState } from 'preact/hooks';
import { headers, reportError } from './api';
import { textOf } from './format';
import { CuttableFetch } from './cuttable-fetch';
import { RunFacts } from './run-facts';

/** What the connection of a chat delivered of one run. */
export class Delivery {
  connections = 0;
  cuts = 0;
  records: NativeRecord[] = [];

  constructor(readonly run: string) {}

  add(record: NativeRecord): void {
    // What a killed process had sent and not yet stored is gone from the run: the next process says so, and uses its numbers again.
    if (record.event.type === 'attempt-retracted') {
      const { attempt } = record.event;
      const lost = this.records.findIndex(({ seq }) => seq >= record.seq);
      const isRepeated = lost >= 0 && this.records.slice(lost).some(({ event }) => event.type === 'attempt-retracted' && event.attempt === attempt);
      if (lost >= 0 && !isRepeated) this.records.length = lost;
    }
    this.records.push(record);
  }
}

export class Conversation {
  readonly chat: Chat;
  /** Made in this tab, and nothing was sent yet: the server does not know it. */
  isNew: boolean;
  delivery: Delivery | undefined;
  readonly #resent = new Set<string>();
  readonly #network = new CuttableFetch((run) => {
    if (this.delivery?.run !== run) this.delivery = new Delivery(run);
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
      watch: this.#watch,
      // A long answer is parsed anew each time.
      flushInterval: 32,
      maxRetries: 1000,
      retryDelay: (attempt) => Math.min(5000, 250 * 2 ** Math.min(attempt, 5)) * (0.75 + Math.random() / 2),
      onError: reportError,
      onChunk: (record) => {
        if (!record.replay) this.delivery?.add(record);
        const run = this.delivery?.run;
        if (run) this.facts.add(run, [record]);
      },
    });
  }

  /** Sees what other clients do in the session, once there is one. */
  readonly #watch = (chat: Chat, subscribe: Chat['subscribe']) => {
    let stop: (() => void) | undefined;
    const begin = () => {
      if (!this.isNew) stop ??= watchSession(chat, subscribe);
    };
    const unsubscribe = subscribe(begin);
    begin();
    return () => {
      unsubscribe();
      stop?.();
    };
  };

  /** Sends a message that failed again: the new one takes its place. */
  resend(message: Message): Promise<void> {
    this.#resent.add(message.id);
    return this.chat.send(textOf(message)).catch(() => {});
  }

  /** The messages without those that were sent again. */
  shown(messages: readonly Message[]): readonly Message[] {
    return this.#resent.size === 0 ? messages : messages.filter(({ id }) => !this.#resent.has(id));
  }

  set agent(agent: string | undefined) {
    this.chat.options = { ...this.chat.options, agent };
  }

  get agent(): string | undefined {
    return this.chat.options.agent;
  }

  /** Breaks the connection, as a tunnel or a proxy would. The run continues. */
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
