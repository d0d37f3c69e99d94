import { createChat, type Chat } from '@headwater/client';
import { watchSession } from '@headwater/client/session';

export const chatInEveryTab = (url: string, storage: Storage) =>
  createChat({ url, agent: 'chat', storage: () => storage, watch: watchSession });

/** Shows the answer before the current one. */
export async function previousVariant(chat: Chat, message: string) {
  const variants = await chat.variants(message);
  const at = variants.findIndex(({ selected }) => selected);
  const previous = variants[at - 1];
  if (previous) await chat.select(previous.checkpoint.id);
}
