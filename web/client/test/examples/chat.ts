import { createChat, type ChatSnapshot } from '@headwater/client';

export async function chatOnAPage(url: string, storage: Storage, render: (snapshot: ChatSnapshot) => void) {
  const chat = createChat({ url, agent: 'tools', storage: () => storage });
  chat.subscribe(() => render(chat.getSnapshot()));

  await chat.load(); // the conversation of an earlier visit, and the run that may still be active
  await chat.send('delete notes.txt');
  return chat;
}
