import type { Chat, Message, Part } from '@headwater/client';
import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Copy } from '../copy';
import { duration, line, plural, runOf, textOf } from '../format';
import { Icon } from '../icon';
import { Json } from '../json';
import { Markdown } from '../markdown';
import type { Facts } from '../run-facts';
import { Data, FileCard, FollowUps, QuestionLine, Reasoning, Sources, StructuredCard, Tool } from './parts';
import { VariantPicker, type Variant } from './variants';

type PartOf<T extends Part['type']> = Extract<Part, { type: T }>;

export interface MessageActions {
  chat: Chat;
  onAsk: (text: string) => void;
  onInspect: (run: string) => void;
  onFork: (message: string) => void;
}

interface SaidProps {
  message: Message;
  chat: Chat;
  /** Sends a message that failed in place of the old one. */
  onResend: (message: Message) => void;
  canEdit: boolean;
}

/** A message of the person. */
export const Said = memo(function Said({ message, chat, canEdit, onResend }: SaidProps) {
  const [draft, setDraft] = useState<string>();
  const text = textOf(message);
  if (draft !== undefined) {
    return <Edit text={text} onCancel={() => setDraft(undefined)} onSend={(now) => { setDraft(undefined); void chat.edit(message.id, now); }} />;
  }
  return (
    <article class={`message said ${message.status}`} aria-label="You">
      <div class="bubble">
        {text}
        {message.parts.map((part, at) => part.type === 'file' && <FileCard key={at} part={part} />)}
      </div>
      <div class="actions">
        {message.status === 'error' && (
          <>
            <span class="bad">Not sent</span>
            <button type="button" class="quiet" onClick={() => onResend(message)}>Send again</button>
          </>
        )}
        {canEdit && message.status === 'sent' && runOf(message.id) && (
          <button type="button" class="quiet" title="Edit this message" aria-label="Edit this message" onClick={() => setDraft(text)}><Icon name="edit" /></button>
        )}
        <Copy label="Copy this message" text={() => text} />
      </div>
    </article>
  );
});

function Edit({ text, onCancel, onSend }: { text: string; onCancel: () => void; onSend: (text: string) => void }) {
  const [now, setNow] = useState(text);
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => input.current?.focus(), []);
  const send = () => now.trim() && onSend(now.trim());
  return (
    <form class="message said editing" onSubmit={(event) => { event.preventDefault(); send(); }}>
      <textarea
        ref={input}
        aria-label="Edited message"
        value={now}
        rows={Math.min(8, now.split('\n').length + 1)}
        onInput={(event) => setNow(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel();
          if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
        }}
      />
      <div class="buttons">
        <span class="soft">What followed is kept as a variant.</span>
        <button type="button" onClick={onCancel}>Cancel</button>
        <button type="submit" class="first" disabled={!now.trim()}>Send</button>
      </div>
    </form>
  );
}

interface AnswerProps extends MessageActions {
  message: Message;
  facts: Facts | undefined;
  /** Changes whenever the facts do, which are no value. */
  version: number;
  learned: number;
  isLast: boolean;
  isActive: boolean;
  isWaiting: boolean;
  isStopped: boolean;
  /** The turns that were done in place of this one, and it. */
  variants: readonly Variant[] | undefined;
  onVariant: (checkpoint: string) => void;
}

/** A message of the agent. */
export const AnswerMessage = memo(function AnswerMessage({ message, facts, chat, onAsk, onInspect, onFork, isLast, isActive, isWaiting, isStopped, variants, onVariant }: AnswerProps) {
  const run = runOf(message.id);
  const isLive = isLast && isActive;
  const sources = message.parts.filter((part) => part.type === 'source-url' || part.type === 'source-document') as (PartOf<'source-url'> | PartOf<'source-document'>)[];
  const data = message.parts.filter((part): part is PartOf<'data'> => part.type === 'data');
  const text = textOf(message);
  const retracted = facts?.retracted ?? [];
  const took = facts?.startedAt !== undefined && facts.endedAt !== undefined ? duration(facts.endedAt - facts.startedAt) : '';
  return (
    <article class={`message answer ${message.status}`} aria-label="Agent" aria-busy={isLive}>
      {retracted.length > 0 && (
        <p class="retry" title={retracted.map(({ reason }) => reason).join('\n')}>
          <Icon name="again" />
          {plural(retracted.length, 'attempt')} failed and {retracted.length === 1 ? 'was' : 'were'} retracted
          <span class="soft">{line(retracted.at(-1)?.reason ?? '', 80)}</span>
        </p>
      )}
      {message.parts.map((part, at) => <PartView key={at} part={part} facts={facts} isLive={isLive} isOpen={isLive || (isLast && isWaiting)} />)}
      {isLive && message.parts.length === 0 && <p class="soft"><span class="pulse">Working</span></p>}
      {sources.length > 0 && <Sources parts={sources} />}
      {data.map((part, at) => (part.name === 'follow-ups' ? isLast && !isActive && <FollowUps key={at} value={part.data} onAsk={onAsk} /> : <Data key={at} name={part.name} value={part.data} />))}
      {!isLive && (message.status === 'cancelled' || facts?.isStopped || isStopped) && <p class="ended">Stopped.</p>}
      {!isLive && !(isWaiting && isLast && message.parts.every(({ type }) => type === 'question')) && (
        <div class="actions">
          {variants && <VariantPicker variants={variants} onSelect={onVariant} />}
          {text && <Copy label="Copy this answer" text={() => text} />}
          {run && (
            <>
              <button type="button" class="quiet" title="Answer again" aria-label="Answer again" onClick={() => void chat.regenerate(message.id)}><Icon name="again" /></button>
              <button type="button" class="quiet" title="Fork the conversation here" aria-label="Fork the conversation here" onClick={() => onFork(message.id)}><Icon name="fork" /></button>
              <button type="button" class="quiet" title="Show the run" aria-label="Show the run" onClick={() => onInspect(run)}><Icon name="panel" /></button>
            </>
          )}
          {took && <span class="soft">{took}</span>}
        </div>
      )}
    </article>
  );
});

function PartView({ part, facts, isLive, isOpen }: { part: Part; facts: Facts | undefined; isLive: boolean; isOpen: boolean }) {
  switch (part.type) {
    case 'text':
      return <Markdown text={part.text} streaming={isLive && part.state === 'streaming'} />;
    case 'reasoning':
      return <Reasoning part={part} facts={facts} />;
    case 'tool':
      return <Tool part={part} facts={facts} isLive={isOpen} />;
    case 'structured':
      return <StructuredCard part={part} isLive={isLive} />;
    case 'file':
      return <FileCard part={part} />;
    case 'question':
      // One that is open is a card below the message.
      return part.state === 'open' ? null : <QuestionLine part={part} />;
    case 'other':
      return <Json value={part.value} open={0} name="other" />;
    default:
      return null;
  }
}
