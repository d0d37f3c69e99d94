import type { ChatAdapter, ChatMessage, ChatMessageChunk, ChatRealtimeEvent } from '@mui/x-chat-headless';
import { readChunks, type Position, type ServerChunk } from './chunks.js';
import { withFiles, withoutLocalFiles } from './files.js';
import { LostError, retry } from './retry.js';
import { StreamedMessage } from './streamed-message.js';

/** How often the message of a followed run is reported at most, in milliseconds: each report draws it anew. */
const REPORT_INTERVAL = 40;

export interface HeadwaterAdapterOptions {
  /** Where the dialect `mui` is served: `https://example.com/v1/mui/chat`. */
  url: string;
  /** The agent, where the URL names none. */
  agent?: string | undefined;
  /** Headers of every request, for credentials. A function is called for each request. */
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>) | undefined;
  /** How often a lost connection is tried again without a new chunk in between: 8 times, within about 16 seconds. */
  retries?: number | undefined;
  /** In place of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

/** An adapter that has all that the server can do. Its methods can be taken out of the object. */
export type HeadwaterAdapter = Required<Omit<ChatAdapter, 'loadMore' | 'markRead' | 'setTyping'>> & {
  /**
   * Gives the output of a tool that the page executes. A question is a call of the tool `ask_user`: its output is the
   * answer. MUI has no method for it: the page calls it.
   */
  addToolOutput(input: { toolCallId: string; output: unknown }): Promise<void>;
};

/** A message or an answer that is asked for. */
interface Turn {
  conversationId?: string | undefined;
  messageId?: string;
  message: ChatMessage;
  messages: ChatMessage[];
}

interface RequestOptions {
  body?: object;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  keepalive?: boolean;
}

/**
 * An adapter for `ChatBox` or `ChatProvider`.
 *
 * MUI has no wire format: its client is given parsed chunks. This adapter reads the server's envelopes, and reconnects by
 * itself after a cut, because MUI's own reconnection is tried once, only after a clean end, and splits the open text. A
 * conversation that is opened while a run is active, after a reload or in a second tab, is followed: MUI's client asks for
 * no stream there.
 *
 * Failures are reported the way ChatBox shows them. A message that the server refuses, or that cannot be sent, is a
 * send error: the message is marked and can be sent again. A run that fails is an error of its answer. A connection that
 * is lost for good is a disconnect: `onFinish` gets `isDisconnect`.
 *
 * @example
 * ```tsx
 * const adapter = createHeadwaterAdapter({ url: 'https://example.com/v1/mui/chat' });
 * <ChatBox adapter={adapter} initialActiveConversationId={conversation} />
 * ```
 */
export function createHeadwaterAdapter({ url, agent, headers, retries = 8, fetch = globalThis.fetch }: HeadwaterAdapterOptions): HeadwaterAdapter {
  const listeners = new Set<(event: ChatRealtimeEvent) => void>();
  /** What is being read: an answer and a stop name its conversation and its run. */
  let current: Position | undefined;
  /** The conversations whose answer is being read because the page asked for it. */
  const answering = new Set<string | undefined>();
  /** The messages that were sent with files, as they were sent, by their ids: MUI keeps only URLs of the page. */
  const sentWithFiles = new Map<string, ChatMessage>();
  /** The run that was found when a conversation was opened. */
  let followed: { isFound: () => boolean; leave: () => void } | undefined;

  const address = (path = '', query: Record<string, string | undefined> = {}): string => {
    const target = new URL(url, globalThis.location?.href);
    target.pathname += path;
    for (const [key, value] of Object.entries({ agent, ...query })) if (value) target.searchParams.set(key, value);
    return target.href;
  };

  const request = async (target: string, { body, ...init }: RequestOptions = {}): Promise<Response> => {
    const own = typeof headers === 'function' ? await headers() : headers;
    return fetch(target, {
      ...init,
      headers: { ...(body && { 'content-type': 'application/json' }), ...own, ...init.headers },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
  };

  const notify = (message: Pick<ChatMessage, 'id'> & Partial<ChatMessage>): void => {
    // An update is merged into the message that is there, so it need not be whole.
    for (const listener of listeners) listener({ type: 'message-updated', message: message as ChatMessage });
  };

  /** An answer counts once, however often it is sent: one that the network lost is sent again. */
  const respond = async (body: object): Promise<void> => {
    await retry(() => request(address(), { body: { conversationId: current?.conversationId, ...body } }), retries);
  };

  const reconnect = ({ conversationId, messageId, runId, lastEventId }: Position, signal: AbortSignal): Promise<Response> =>
    request(address('/stream', { conversationId, messageId, runId }), { signal, headers: lastEventId ? { 'last-event-id': lastEventId } : {} });

  /** Reads an answer for MUI, from the response of `first` on, over as many connections as it takes. */
  const answer = async (
    position: Position,
    first: () => Promise<Response>,
    next: () => Promise<Response>,
    signal: AbortSignal,
  ): Promise<ReadableStream<ChatMessageChunk> | null> => {
    current = position;
    // A run that was not found yet would be the one of this very request, and be shown twice.
    if (!followed?.isFound()) followed?.leave();
    const { conversationId } = position;
    answering.add(conversationId);
    const end = () => answering.delete(conversationId);
    try {
      const response = await retry(first, retries, signal);
      if (response.status !== 204) return toStream(readChunks(response, next, position, retries, signal), notify, end);
    } catch (error) {
      end();
      throw error;
    }
    end();
    return null;
  };

  const send = async ({ message, messages, ...rest }: Turn, signal: AbortSignal): Promise<ReadableStream<ChatMessageChunk>> => {
    // The newest message is sent once. Files of older ones are with the server: a URL of the page means nothing there.
    const body = { ...rest, message, messages: messages.filter(({ id }) => id !== message.id).map(withoutLocalFiles) };
    const position: Position = { conversationId: rest.conversationId };
    const headers = { 'idempotency-key': crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
    const first = () => request(address(), { body, signal, headers });
    // Where nothing came at all the server may not know of it: the same key makes it the same request.
    const next = () => (position.messageId === undefined ? first() : reconnect(position, signal));
    return (await answer(position, first, next, signal)) as ReadableStream<ChatMessageChunk>;
  };

  /** Reports the message of the run that is active in a conversation, until it ends. */
  const follow = async (conversationId: string): Promise<void> => {
    followed?.leave();
    const controller = new AbortController();
    const { signal } = controller;
    const position: Position = { conversationId };
    const next = () => reconnect(position, signal);
    const streamed = new StreamedMessage(conversationId);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const report = () => {
      timer = undefined;
      if (!signal.aborted && streamed.message) notify(streamed.message);
    };
    followed = {
      isFound: () => streamed.message !== undefined,
      leave() {
        clearTimeout(timer);
        controller.abort();
      },
    };
    try {
      const response = await next();
      // Nothing is active.
      if (response.status === 204) return;
      if (!signal.aborted) current = position;
      for await (const chunk of readChunks(response, next, position, retries, signal)) {
        streamed.apply(chunk);
        timer ??= setTimeout(report, REPORT_INTERVAL);
      }
    } catch {
      // The run failed, or the server is gone: what is there stays, and is marked.
      streamed.fail();
    }
    clearTimeout(timer);
    report();
  };

  return {
    async sendMessage({ conversationId, message, messages, attachments, signal }) {
      const sent = await withFiles(message, attachments);
      if (sent !== message) sentWithFiles.set(message.id, sent);
      const stream = await send({ conversationId, message: sent, messages }, signal);
      // MUI takes it for sent when its answer has ended, which a run that waits for a person does not.
      notify({ ...message, status: 'sent' });
      return stream;
    },

    async regenerate({ conversationId, messageId, message, messages, signal }) {
      return send({ conversationId, messageId, message: sentWithFiles.get(message.id) ?? message, messages }, signal);
    },

    // MUI asks for this once, after the stream was given up. It has closed the open text by then, so the message is
    // emptied and comes again from its first chunk.
    async reconnectToStream({ conversationId, messageId, signal }) {
      const position: Position = { conversationId, messageId, runId: current?.messageId === messageId ? current?.runId : undefined };
      const next = () => reconnect(position, signal);
      return answer(position, next, next, signal);
    },

    async addToolApprovalResponse({ id, approved, reason }) {
      await respond({ id, approved, reason });
    },

    async addToolOutput({ toolCallId, output }) {
      await respond({ toolCallId, output });
    },

    stop() {
      if (!current) return;
      const { conversationId, messageId, runId } = current;
      // The page may be closed in the same moment.
      request(address('/stop'), { body: { conversationId, messageId, runId }, keepalive: true }).catch(() => {});
    },

    async listConversations() {
      const response = await retry(() => request(address()), retries);
      return response.json();
    },

    async listMessages({ conversationId, cursor, direction }) {
      const response = await retry(() => request(address('', { conversationId, cursor, direction })), retries);
      const page = await response.json();
      page.messages = page.messages.map(({ id, ...rest }: ChatMessage) => ({ id, conversationId, ...rest }));
      // The newest page is asked for when the conversation is opened. MUI takes the page before the first event comes,
      // because that needs another request.
      if (cursor === undefined && !answering.has(conversationId)) void follow(conversationId);
      return page;
    },

    subscribe({ onEvent }) {
      listeners.add(onEvent);
      return () => void listeners.delete(onEvent);
    },
  };
}

/**
 * One stream of chunks for MUI. They come in order and once, so they go without their envelopes: numbers are given again
 * when a run is continued by another process, and MUI would wait for others.
 */
function toStream(
  chunks: AsyncGenerator<ServerChunk, void, undefined>,
  notify: (message: ChatMessage) => void,
  onEnd: () => void,
): ReadableStream<ChatMessageChunk> {
  let hasBegun = false;
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { value: chunk, done } = await chunks.next();
          if (done) {
            onEnd();
            controller.close();
            return;
          }
          // The parts that stay when an attempt is retracted: exactly here, between the chunks around it.
          if (chunk.type === 'message-updated') notify(chunk['message'] as ChatMessage);
          hasBegun = true;
          controller.enqueue(chunk as unknown as ChatMessageChunk);
        } catch (error) {
          onEnd();
          // A stream that closes before its end is what MUI calls a disconnect, unless nothing came: that is an empty answer.
          if (error instanceof LostError && hasBegun) controller.close();
          // A plain error is shown with its text.
          else controller.error(new Error((error as Error).message));
        }
      },
      async cancel() {
        onEnd();
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
}
