import type { Chat, ChatSnapshot } from '@headwater/client';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../icon';

export function Composer({ chat, snapshot, agent, onSend }: { chat: Chat; snapshot: ChatSnapshot; agent: string; onSend: (text: string) => void }) {
  const [text, setText] = useState('');
  const [stopping, setStopping] = useState(false);
  const input = useRef<HTMLTextAreaElement>(null);
  const isActive = snapshot.status === 'submitted' || snapshot.status === 'streaming';
  const isWaiting = snapshot.waiting.length > 0;
  useEffect(() => {
    // On a phone the keyboard would cover the page.
    if (matchMedia('(pointer: fine)').matches) input.current?.focus();
  }, [chat]);
  useEffect(() => setStopping(false), [isActive]);
  useLayoutEffect(() => {
    const box = input.current;
    if (!box) return;
    box.style.height = 'auto';
    box.style.height = `${Math.min(box.scrollHeight, 220)}px`;
  }, [text]);
  const send = () => {
    const now = text.trim();
    if (!now || !agent) return;
    setText('');
    onSend(now);
  };
  const stop = () => {
    setStopping(true);
    void chat.stop().catch(() => setStopping(false));
  };
  return (
    <form class="composer" onSubmit={(event) => { event.preventDefault(); send(); }}>
      <textarea
        ref={input}
        rows={1}
        value={text}
        aria-label="Your message"
        placeholder={isWaiting ? 'Answer above; a message takes the question back' : isActive ? 'Write the next message: it waits for its turn' : agent ? `Message ${agent}` : 'Message'}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
          if (event.key === 'Escape' && isActive) stop();
        }}
      />
      {isActive && <button type="button" class="round" aria-label="Stop" title="Stop (Esc)" disabled={stopping} onClick={stop}><Icon name="stop" /></button>}
      <button type="submit" class="round first" aria-label="Send" title="Send (Enter)" disabled={!text.trim() || !agent}><Icon name="send" /></button>
    </form>
  );
}

export function Queue({ chat, queue }: { chat: Chat; queue: ChatSnapshot['queue'] }) {
  const [editing, setEditing] = useState<{ run: string; text: string }>();
  if (queue.length === 0) return null;
  return (
    <ul class="queue" aria-label="Messages that wait">
      {queue.map(({ run, text }) => (
        <li key={run}>
          {editing?.run === run ? (
            <form onSubmit={(event) => { event.preventDefault(); setEditing(undefined); void chat.queue.edit(run, editing.text); }}>
              <input aria-label="Text of the waiting message" value={editing.text} onInput={(event) => setEditing({ run, text: event.currentTarget.value })} />
              <button type="submit" class="first">Keep</button>
            </form>
          ) : (
            <>
              <Icon name="clock" />
              <span class="text">{text}</span>
              <button type="button" class="quiet" onClick={() => void chat.queue.sendNow(run)}>Send now</button>
              <button type="button" class="quiet" aria-label="Edit" title="Edit" onClick={() => setEditing({ run, text })}><Icon name="edit" /></button>
              <button type="button" class="quiet" aria-label="Remove" title="Remove" onClick={() => void chat.queue.remove(run)}><Icon name="cross" /></button>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
