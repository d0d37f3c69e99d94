import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { agentOf, onUnauthorised, readRun, setKey } from './api';
import { ChatView } from './chat/chat-view';
import { Conversation, newSession } from './conversation';
import { Icon } from './icon';
import { Inbox } from './inbox';
import { Inspector } from './inspect/inspector';
import { useLibrary } from './library';
import { Login } from './login';
import { Rail } from './rail';
import { formatRoute, go, useRoute } from './route';
import { RunFacts } from './run-facts';

export function App() {
  const [key, setKeyCount] = useState(0);
  const [needsKey, setNeedsKey] = useState(false);
  useEffect(() => onUnauthorised(() => setNeedsKey(true)), []);
  if (needsKey) return <Login onKey={() => { setNeedsKey(false); setKeyCount(key + 1); }} />;
  const logOut = () => {
    setKey('');
    go({ view: 'new' }, { replace: true });
    setNeedsKey(true);
  };
  return <Studio key={key} onLogOut={logOut} />;
}

function Studio({ onLogOut }: { onLogOut: () => void }) {
  const route = useRoute();
  const [library, store] = useLibrary();
  const refresh = () => void store.refresh();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const facts = useMemo(() => new RunFacts(), []);
  const held = useRef<Conversation | undefined>(undefined);
  const [, draw] = useState({});
  const { agents, sessions, defaultAgent } = library;

  // The conversation that is shown. A new one keeps its chat when it gets a URL of its own.
  const conversation = (() => {
    if (route.view === 'inbox' || route.view === 'run') return undefined;
    const kept = held.current;
    if (route.view === 'new') {
      const agent = route.agent && route.agent !== '-' ? route.agent : defaultAgent;
      if (kept?.isNew) {
        if (kept.agent !== agent && agent) kept.agent = agent;
        return kept;
      }
      kept?.close();
      return (held.current = new Conversation(newSession(), agent, facts, true));
    }
    if (kept?.session === route.session) return kept;
    kept?.close();
    return (held.current = new Conversation(route.session, undefined, facts, false));
  })();

  // Another person may log in on this page.
  useEffect(() => () => held.current?.close(), []);

  const stopped = useMemo(() => new Set(library.runs.filter(({ status }) => status === 'cancelled').map(({ id }) => id)), [library.runs]);
  const row = sessions.find(({ id }) => id === conversation?.session);
  const agent = conversation ? (conversation.agent ?? row?.agent) : undefined;

  // A session from a link: its agent is that of its runs.
  useEffect(() => {
    if (!conversation || conversation.isNew || conversation.agent) return;
    if (row) {
      conversation.agent = row.agent;
      draw({});
    } else if (library.isLoaded) {
      void agentOf(conversation.session).then((name) => {
        conversation.agent ??= name ?? defaultAgent;
        draw({});
      });
    }
  }, [conversation, row, library.isLoaded]);

  useEffect(() => {
    if (!conversation || conversation.isNew) return;
    void conversation.chat.load();
    void store.poll();
  }, [conversation]);

  // The rail shows a turn as soon as it begins, waits or ends.
  useEffect(() => {
    if (!conversation) return;
    let before = '';
    let timer: ReturnType<typeof setTimeout> | undefined;
    const unsubscribe = conversation.chat.subscribe(() => {
      const { status, waiting, run } = conversation.chat.getSnapshot();
      const now = `${status} ${waiting.length} ${run}`;
      if (now === before) return;
      before = now;
      void store.poll();
      // Lists are a moment behind the stream.
      clearTimeout(timer);
      timer = setTimeout(() => void store.poll(), 500);
    });
    return () => {
      clearTimeout(timer);
      unsubscribe();
    };
  }, [conversation]);

  useEffect(() => setMenuOpen(false), [formatRoute(route)]);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (!(event.metaKey || event.ctrlKey) || event.key.toLowerCase() !== 'k') return;
      event.preventDefault();
      go({ view: 'new' });
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, []);

  // A run without a session that the person opens; one that has a session is shown with it.
  useEffect(() => {
    if (route.view !== 'run') return;
    const { run, tab, seq } = route;
    void readRun(run).then(({ run: { session } }) => {
      if (session) go({ view: 'session', session, tab: tab ?? 'timeline', run, seq }, { replace: true });
    }, () => {});
  }, [route.view === 'run' && route.run]);

  const tab = route.view === 'inbox' ? undefined : route.tab;
  const onSent = () => {
    if (!conversation?.isNew) return;
    conversation.isNew = false;
    go({ view: 'session', session: conversation.session, tab }, { replace: true });
  };
  const waiting = library.interrupts.length;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${row?.label ?? 'Headwater'}`;
  }, [waiting, row?.label]);

  return (
    <div class={`studio ${tab ? 'with-inspector' : ''} ${tab ? `tab-${tab}` : ''} ${isMenuOpen ? 'with-menu' : ''} ${route.view === 'run' ? 'run-only' : ''}`}>
      <Rail library={library} route={route} onRefresh={refresh} onMore={() => store.moreSessions()} onLogOut={onLogOut} />
      {isMenuOpen && <button type="button" class="veil" aria-label="Close the list of sessions" onClick={() => setMenuOpen(false)} />}
      {route.view === 'inbox' && <Inbox library={library} onMenu={() => setMenuOpen(!isMenuOpen)} onRefresh={refresh} onMore={() => void store.moreInterrupts()} />}
      {conversation && (
        <ChatView
          key={conversation.session}
          conversation={conversation}
          agents={agents}
          agent={agent ?? ''}
          label={row?.label ?? undefined}
          stopped={stopped}
          tab={tab}
          inspected={route.view === 'session' && route.run !== '-' ? route.run : undefined}
          onPickAgent={(name) => go({ view: 'new', agent: name, tab }, { replace: true })}
          onSent={onSent}
          onMenu={() => setMenuOpen(!isMenuOpen)}
        />
      )}
      {tab && route.view !== 'inbox' && <Inspector route={route} tab={tab} conversation={conversation} facts={facts} agent={agent ?? defaultAgent} agents={agents} />}
      {library.error && library.error.status !== 401 && (
        <p class="banner" role="alert"><Icon name="alert" />{library.error.message} Trying again.</p>
      )}
    </div>
  );
}
