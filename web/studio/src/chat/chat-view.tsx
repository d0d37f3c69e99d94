import type { ChatSnapshot, Message, Waiting } from '@headwater/client';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Agent } from '../api';
import { useSnapshot, type Conversation } from '../conversation';
import { runOf } from '../format';
import { Icon } from '../icon';
import { readRecords } from '../inspect/records';
import { go, hasMoment, type Tab } from '../route';
import type { RunFacts } from '../run-facts';
import { AskCard, type Answer, type Ask } from './cards';
import { Composer, Queue } from './composer';
import { AnswerMessage, Said } from './message';
import { useVariants } from './variants';

interface Props {
  conversation: Conversation;
  agents: readonly Agent[];
  agent: string;
  label: string | undefined;
  /** The runs that were stopped, as far as they are known. */
  stopped: ReadonlySet<string>;
  tab: Tab | undefined;
  /** The run that the inspector shows, if it is not the latest. */
  inspected: string | undefined;
  onPickAgent: (agent: string) => void;
  onSent: () => void;
  onMenu: () => void;
}

export function ChatView({ conversation, agents, agent, label, stopped, tab, inspected, onPickAgent, onSent, onMenu }: Props) {
  const { chat, facts, session } = conversation;
  const snapshot = useSnapshot(chat);
  const { status, waiting } = snapshot;
  const messages = conversation.shown(snapshot.messages);
  const isActive = status === 'submitted' || status === 'streaming';
  const about = agents.find(({ name }) => name === agent);
  const [version, setVersion] = useState(0);
  // What the page learns of a run beside its messages comes with the snapshots.
  useEffect(() => setVersion((held) => held + 1), [snapshot]);
  const log = useFollow(snapshot);

  const send = (text: string) => {
    onSent();
    void chat.send(text);
  };
  const openTab = (to: Tab | undefined, run?: string) =>
    go(conversation.isNew ? { view: 'new', agent, tab: to } : { view: 'session', session, tab: to, run });
  // The same functions every time: a message that did not change is not drawn again.
  const resend = useCallback((message: Message) => void conversation.resend(message), [conversation]);
  const ask = useCallback((text: string) => void chat.send(text), [chat]);
  const inspect = useCallback((run: string) => go({ view: 'session', session, tab: tab ?? 'timeline', run }), [session, tab]);
  const fork = useCallback((message: string) => void chat.fork(message).then(({ id }) => go({ view: 'session', session: id }), () => {}), [chat]);
  const variants = useVariants(session, messages, isActive);
  const selectTurn = useCallback((checkpoint: string) => void chat.select(checkpoint), [chat]);
  const learned = useFacts(messages, isActive || waiting.length > 0, facts, hasMoment(tab) ? (inspected ?? snapshot.run) : undefined);

  return (
    <main class="chat" aria-label="Chat">
      <header class="bar">
        <button type="button" class="quiet menu" aria-label="Sessions" onClick={onMenu}><Icon name="menu" /></button>
        {conversation.isNew ? (
          <select class="picker" aria-label="Agent" value={agent} onChange={(event) => onPickAgent(event.currentTarget.value)}>
            {agents.map(({ name }) => <option key={name}>{name}</option>)}
          </select>
        ) : (
          <h1><span class="agent">{agent}</span><span class="session-title">{label ?? 'Conversation'}</span></h1>
        )}
        <Connection snapshot={snapshot} />
        <button type="button" class={tab ? 'quiet on' : 'quiet'} aria-pressed={!!tab} aria-label="Inspector" title="Inspector" onClick={() => openTab(tab ? undefined : 'timeline', snapshot.run)}>
          <Icon name="panel" />
        </button>
      </header>
      <div class="log" ref={log} role="log" aria-label="Conversation" aria-busy={isActive} tabIndex={0}>
        <div class="column">
          {snapshot.hasOlder && <button type="button" class="older" onClick={() => void chat.loadOlder()}>Older messages</button>}
          {messages.length === 0 && !isActive && agent && (
            <section class="empty">
              <h2>{agent}</h2>
              <p>{about?.description ?? 'An agent of this server.'}</p>
              <div class="prompts">
                {(about?.suggestions.length ? about.suggestions : ['Hello']).map((text) => <button key={text} type="button" onClick={() => send(text)}>{text}</button>)}
              </div>
            </section>
          )}
          {messages.map((message, at) =>
            message.role === 'user' ? (
              <Said key={message.id} message={message} chat={chat} canEdit={!isActive} onResend={resend} />
            ) : (
              <AnswerMessage
                key={message.id}
                message={message}
                chat={chat}
                facts={facts.of(runOf(message.id))}
                version={at === messages.length - 1 ? version : 0}
                learned={learned}
                isStopped={stopped.has(runOf(message.id) ?? '')}
                isLast={at === messages.length - 1}
                isActive={isActive}
                isWaiting={waiting.length > 0}
                onAsk={ask}
                onInspect={inspect}
                onFork={fork}
                variants={variants.get(runOf(message.id) ?? '')}
                onVariant={selectTurn}
              />
            ),
          )}
          {status === 'submitted' && messages.at(-1)?.role === 'user' && <p class="soft"><span class="pulse">Working</span></p>}
          {waiting.map((open) => <AskCard key={keyOf(open)} ask={askOf(open, messages)} onAnswer={(answer) => sendAnswer(conversation, open, answer)} />)}
          {snapshot.error && (
            <div class="problem" role="alert">
              <Icon name="alert" />
              <span>{snapshot.error.message} <code>{snapshot.error.code}</code></span>
              {status === 'error' && messages.at(-1)?.role === 'assistant' && <button type="button" onClick={() => void chat.regenerate()}>Try again</button>}
              {snapshot.error.code === 'stream.lost' && <button type="button" onClick={() => void chat.load()}>Connect</button>}
            </div>
          )}
        </div>
      </div>
      <footer>
        <div class="column">
          <Queue chat={chat} queue={snapshot.queue} />
          <Composer chat={chat} snapshot={snapshot} agent={agent} onSend={send} />
        </div>
      </footer>
    </main>
  );
}

function Connection({ snapshot: { connection, status, waiting } }: { snapshot: ChatSnapshot }) {
  const [state, label] =
    connection === 'lost' || (connection === 'connecting' && status !== 'submitted') ? ['lost', 'connecting again']
    : waiting.length > 0 ? ['waiting', 'waits for you']
    : connection === 'open' ? ['live', 'live']
    : status === 'submitted' ? ['live', 'sent']
    : ['idle', ''];
  return <span class={`dot ${state}`} role="status">{label}</span>;
}

const keyOf = (open: Waiting) => (open.kind === 'client-tool' ? open.call : open.request);

function askOf(open: Waiting, messages: readonly Message[]): Ask {
  if (open.kind === 'approval') {
    const tool = messages.flatMap(({ parts }) => parts).find((part) => part.type === 'tool' && part.call === open.call);
    return { ...open, title: tool?.type === 'tool' ? tool.title : undefined };
  }
  if (open.kind === 'client-tool') return { ...open, request: open.call };
  const { question = '', kind, multiple = false, options = [] } = open.interrupt;
  return { kind: 'question', request: open.request, question, answers: kind, multiple, options };
}

function sendAnswer({ chat }: Conversation, open: Waiting, answer: Answer): Promise<void> {
  if (open.kind === 'client-tool') return 'error' in answer ? chat.addToolOutput(open.call, undefined, answer.error) : chat.addToolOutput(open.call, (answer as { output: unknown }).output);
  if (open.kind === 'approval') return chat.approve(open.request, answer as { approved: boolean; reason?: string });
  return chat.answer(open.request, 'answer' in answer ? answer.answer : undefined);
}

/** Reads the times and the failed attempts of runs that ended before the page was opened; gives how often it learned some. */
function useFacts(messages: readonly Message[], isActive: boolean, facts: RunFacts, inspected: string | undefined): number {
  const [learned, setLearned] = useState(0);
  useEffect(() => facts.subscribe(() => setLearned((held) => held + 1)), [facts]);
  const runs = messages.slice(-20).flatMap(({ id, role }) => (role === 'user' ? [] : [runOf(id)]));
  useEffect(() => {
    if (isActive) return;
    const controller = new AbortController();
    // The inspector reads its run itself: a long one is not read twice.
    const unknown = runs.filter((run): run is string => run !== undefined && run !== inspected && facts.of(run)?.endedAt === undefined);
    void Promise.all(unknown.map((run) => readRecords(run, controller.signal).then((records) => facts.add(run, records), () => {}))).then(() => {
      if (unknown.length > 0 && !controller.signal.aborted) facts.changed();
    });
    return () => controller.abort();
  }, [runs.join(), isActive, inspected]);
  return learned;
}

/** Keeps the end in view while the conversation grows, unless the person has scrolled up. */
function useFollow(snapshot: ChatSnapshot) {
  const log = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const box = log.current;
    if (!box) return;
    const scrolled = () => (atEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < 80);
    box.addEventListener('scroll', scrolled, { passive: true });
    // A picture has its height when it is loaded.
    const grown = new ResizeObserver(() => atEnd.current && (box.scrollTop = box.scrollHeight));
    if (box.firstElementChild) grown.observe(box.firstElementChild);
    return () => {
      grown.disconnect();
      box.removeEventListener('scroll', scrolled);
    };
  }, []);
  const sent = snapshot.status === 'submitted';
  useLayoutEffect(() => {
    const box = log.current;
    if (box && (atEnd.current || sent)) box.scrollTop = box.scrollHeight;
  }, [snapshot, sent]);
  return log;
}
