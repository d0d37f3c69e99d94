import type { ChatMessage, ChatMessagePart } from '@mui/x-chat-headless';
import { textStep, type ServerChunk } from './chunks.js';

type Part = { type: string; toolInvocation?: { toolCallId: string }; text?: string } & Record<string, unknown>;

/** The state that a chunk brings a tool call to. */
const STATES: Record<string, string> = {
  'tool-input-start': 'input-streaming',
  'tool-input-available': 'input-available',
  'tool-input-error': 'output-error',
  'tool-approval-request': 'approval-requested',
  'tool-output-available': 'output-available',
  'tool-output-error': 'output-error',
  'tool-output-denied': 'output-denied',
};

/**
 * A message, built from the chunks of a stream.
 *
 * MUI's client builds messages only from streams that it asked for itself. After a reload it asks for none, so the adapter
 * builds the message of a run that is still active, and reports it as a realtime event.
 */
export class StreamedMessage {
  #message: Record<string, unknown> & { parts: Part[] };
  /** The places of the texts that are open, by kind and id. */
  #open = new Map<string, number>();

  constructor(conversationId: string) {
    this.#message = { conversationId, role: 'assistant', status: 'streaming', parts: [] };
  }

  /** The message so far, or `undefined` before its start. Each state is an object of its own. */
  get message(): ChatMessage | undefined {
    return this.#message['id'] === undefined ? undefined : (this.#message as unknown as ChatMessage);
  }

  apply(chunk: ServerChunk): void {
    const { type } = chunk;
    const [, kind, step] = textStep(type);
    if (kind) this.#text(kind, step as string, chunk);
    else if (STATES[type]) this.#tool(chunk);
    else if (/^(source-|file$|data-)/.test(type)) this.#push(chunk);
    else if (type === 'start-step') this.#push({ type: 'step-start' });
    else if (type === 'start') this.#change({ id: chunk.messageId });
    else if (type === 'message-updated') this.#change({ parts: (chunk['message'] as { parts: ChatMessagePart[] }).parts });
    else if (type === 'message-metadata') this.#change({ metadata: { ...(this.#message['metadata'] as object), ...(chunk['metadata'] as object) } });
    else if (type === 'finish') this.#change({ status: 'sent' });
    else if (type === 'abort') this.#change({ status: 'cancelled' });
  }

  fail(): void {
    this.#change({ status: 'error' });
  }

  #change(fields: object): void {
    this.#message = { ...this.#message, ...fields };
  }

  #push(part: Part): void {
    this.#change({ parts: [...this.#message.parts, part] });
  }

  #replace(place: number, part: Part): void {
    this.#change({ parts: this.#message.parts.map((known, at) => (at === place ? part : known)) });
  }

  #text(type: string, step: string, { id, delta = '' }: ServerChunk): void {
    const key = `${type} ${id}`;
    if (step !== 'end' && !this.#open.has(key)) {
      this.#open.set(key, this.#message.parts.length);
      this.#push({ type, text: '', state: 'streaming' });
    }
    const place = this.#open.get(key) ?? -1;
    const part = this.#message.parts[place];
    if (!part) return;
    if (step === 'end') this.#open.delete(key);
    this.#replace(place, { ...part, text: `${part.text}${delta}`, ...(step === 'end' && { state: 'done' }) });
  }

  #tool({ type, toolCallId, dynamic, inputTextDelta: _, reason, ...fields }: ServerChunk): void {
    const { parts } = this.#message;
    const place = parts.findIndex(({ toolInvocation: call }) => call?.toolCallId === toolCallId);
    const known = parts[place];
    const denial = type === 'tool-output-denied' && { approval: { approved: false, reason } };
    const toolInvocation = { ...known?.toolInvocation, toolCallId: toolCallId as string, ...fields, ...denial, state: STATES[type] };
    if (known) this.#replace(place, { ...known, toolInvocation });
    else this.#push({ type: dynamic ? 'dynamic-tool' : 'tool', toolInvocation });
  }
}
