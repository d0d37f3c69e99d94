import type { Chat, Message } from '@headwater/client';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { readRun } from '../api';
import { runOf } from '../format';

/**
 * The conversation before a run answers, the message of the person last: from the page's conversation if the run is in it, or from a
 * checkpoint. A run without a session has what the list of runs shows of its input.
 */
export function useConversationBefore(run: string, chat: Chat | undefined, checkpoint: readonly Message[] | undefined): readonly Message[] {
  const shown = useMessages(chat);
  const input = useInput(run, !chat);
  const found = messagesUpTo(shown, run) ?? messagesUpTo(checkpoint ?? [], run);
  const key = found?.map(({ id }) => id).join() ?? input;
  return useMemo(() => found ?? (input ? [personSaid(run, input)] : []), [run, key]);
}

/** The messages before a run answers; none if the run is not of this conversation. */
export function messagesUpTo(messages: readonly Message[], run: string): readonly Message[] | undefined {
  const own = messages.findIndex(({ id }) => runOf(id) === run);
  if (own < 0) return undefined;
  return messages.slice(0, messages[own]?.role === 'user' ? own + 1 : own);
}

/** The messages of a conversation. Only other messages draw it again, not more text in one. */
function useMessages(chat: Chat | undefined): readonly Message[] {
  const [, setIds] = useState('');
  useEffect(() => {
    if (!chat) return;
    const read = () => setIds(chat.getSnapshot().messages.map(({ id }) => id).join());
    read();
    return chat.subscribe(read);
  }, [chat]);
  return chat?.getSnapshot().messages ?? [];
}

function useInput(run: string, isAlone: boolean): string {
  const [input, setInput] = useState('');
  useEffect(() => {
    setInput('');
    if (!isAlone) return;
    let isCurrent = true;
    void readRun(run).then(({ run: { input } }) => isCurrent && setInput(input ?? ''), () => {});
    return () => void (isCurrent = false);
  }, [run, isAlone]);
  return input;
}

const personSaid = (run: string, text: string): Message => ({ id: `msg_user_${run}`, role: 'user', status: 'sent', parts: [{ type: 'text', id: 'text', text, state: 'done' }] });
