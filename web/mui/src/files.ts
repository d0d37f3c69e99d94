import type { ChatDraftAttachment, ChatMessage, ChatMessagePart } from '@mui/x-chat-headless';

type FilePart = { type: 'file'; url: string; mediaType: string };

/** A file of the page: its URL means nothing elsewhere. */
const isLocal = (part: ChatMessagePart): boolean => part.type === 'file' && (part as FilePart).url.startsWith('blob:');

/** The message with its files inside, as `data:` URLs. */
export async function withFiles(message: ChatMessage, attachments: ChatDraftAttachment[] = []): Promise<ChatMessage> {
  if (!message.parts.some(isLocal)) return message;
  // MUI makes a part of each attachment, in their order.
  const files = attachments.map(({ file }) => file);
  const parts = message.parts.map(async (part) => {
    if (!isLocal(part)) return part;
    const { url, mediaType } = part as FilePart;
    const file = files.shift() ?? (await (await globalThis.fetch(url)).blob());
    return { ...part, url: await dataUrl(file, mediaType) } as ChatMessagePart;
  });
  return { ...message, parts: await Promise.all(parts) };
}

export function withoutLocalFiles(message: ChatMessage): ChatMessage {
  return message.parts.some(isLocal) ? { ...message, parts: message.parts.filter((part) => !isLocal(part)) } : message;
}

function dataUrl(file: File | Blob, mediaType: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(new Error(`cannot read ${(file as File).name ?? 'the file'}: ${reader.error?.message}`));
    // A file without a type has the one that MUI gave its part.
    reader.readAsDataURL(file.type ? file : new Blob([file], { type: mediaType }));
  });
}
