import type { Chat } from '@headwater/client';

export async function allowEverything(chat: Chat) {
  for (const open of chat.getSnapshot().waiting) {
    if (open.kind === 'approval') await chat.approve(open.request, { reason: 'fine with me' });
    if (open.kind === 'question') await chat.answer(open.request, open.interrupt.options?.[0]?.id ?? 'yes');
    if (open.kind === 'client-tool') await chat.addToolOutput(open.call, { city: 'Oslo' });
  }
}
