/**
 * React hooks for Headwater agents, for React 18 and 19.
 *
 * @packageDocumentation
 */
export { useChat, type UseChat } from './use-chat.js';
export { useChatStream, type UseChatStream } from './use-chat-stream.js';
export { useInterrupts, type UseInterrupts } from './use-interrupts.js';
export { useStructuredStreams, type UseStructuredStreams } from './use-structured-streams.js';
