import { version } from '../package.json';
import { useState } from 'preact/hooks';
import { api, hasKey } from './api';
import { ago, count } from './format';
import { Icon, Mark } from './icon';
import type { Library, SessionRow } from './library';
import { formatRoute, go, type Route } from './route';

const STATES = { running: 'active', waiting: 'waits for you', finished: 'finished', failed: 'failed', cancelled: 'stopped' } as const;

interface Props {
  library: Library;
  route: Route;
  onRefresh: () => void;
  onMore: () => Promise<void>;
  onLogOut: () => void;
}

export function Rail({ library, route, onRefresh, onMore, onLogOut }: Props) {
  const [filter, setFilter] = useState('');
  const [shown, setShown] = useState(60);
  const words = filter.trim().toLowerCase();
  const sessions = library.sessions.filter(({ label, agent, id }) => !words || `${label} ${agent} ${id}`.toLowerCase().includes(words));
  const waiting = `${count(library.interrupts.length)}${library.hasMoreInterrupts ? '+' : ''}`;
  const more = () => {
    setShown(shown + 200);
    if (library.hasMoreSessions) void onMore();
  };
  return (
    <nav class="rail" aria-label="Sessions">
      <header class="bar">
        <a class="brand" href="#/new"><Mark /><strong>Headwater</strong></a>
        <span class="soft">{version}</span>
      </header>
      <a class="item action" href="#/new"><Icon name="plus" /><span>New chat</span></a>
      <a class={route.view === 'inbox' ? 'item action on' : 'item action'} href="#/inbox" aria-current={route.view === 'inbox' ? 'page' : undefined}>
        <Icon name="inbox" /><span>Waits for you</span>{waiting !== '0' && <span class="badge">{waiting}</span>}
      </a>
      {library.sessions.length > 8 && (
        <input class="filter" type="search" aria-label="Find a session" placeholder="Find a session" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      )}
      <ul class="sessions">
        {sessions.slice(0, shown).map((session) => <SessionItem key={session.id} session={session} isOpen={route.view === 'session' && route.session === session.id} onRefresh={onRefresh} />)}
        {(sessions.length > shown || library.hasMoreSessions) && <li><button type="button" class="quiet" onClick={more}>Older sessions</button></li>}
        {words && sessions.length === 0 && <li class="soft nothing">No session is called that{library.hasMoreSessions && ' among those that are shown'}</li>}
        {library.isLoaded && library.sessions.length === 0 && <li class="soft nothing">No conversations yet</li>}
      </ul>
      <footer class="links">
        <a href="/openapi.json" target="_blank" rel="noopener">API</a>
        {hasKey() && <button type="button" class="link" onClick={onLogOut}>Log out</button>}
        <ThemeSwitch />
      </footer>
    </nav>
  );
}

function SessionItem({ session, isOpen, onRefresh }: { session: SessionRow; isOpen: boolean; onRefresh: () => void }) {
  const { id, label, agent, state, updatedAt, forkedFrom } = session;
  const remove = () => {
    if (!confirm(`Delete "${label ?? id}" with all its runs?`)) return;
    void api(`sessions/${encodeURIComponent(id)}`, { method: 'DELETE' }).then(() => {
      if (isOpen) go({ view: 'new' });
      onRefresh();
    }, () => onRefresh());
  };
  return (
    <li class={isOpen ? 'on' : ''}>
      <a class="item" href={formatRoute({ view: 'session', session: id })} aria-current={isOpen ? 'page' : undefined}>
        <span class={`light ${state ?? ''}`} title={state && STATES[state]} />
        <span class="title">{label || id}</span>
        <span class="meta">
          {agent}{forkedFrom && ' · fork'}{state && state !== 'finished' && ` · ${STATES[state]}`}
          <time dateTime={updatedAt}>{ago(updatedAt)}</time>
        </span>
      </a>
      <button type="button" class="quiet remove" aria-label={`Delete ${label ?? id}`} title="Delete" onClick={remove}><Icon name="trash" /></button>
    </li>
  );
}

/** Follows the system, or is light or dark by choice. */
function ThemeSwitch() {
  const [theme, setTheme] = useState(() => document.documentElement.dataset.theme ?? '');
  const pick = (now: string) => {
    setTheme(now);
    applyTheme(now);
    try {
      localStorage.setItem('headwater studio theme', now);
    } catch {
      // Then it lasts as long as the page.
    }
  };
  return (
    <select class="theme" aria-label="Theme" value={theme} onChange={(event) => pick(event.currentTarget.value)}>
      <option value="">System</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}

export function applyTheme(theme: string): void {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

export function storedTheme(): string {
  try {
    return localStorage.getItem('headwater studio theme') ?? '';
  } catch {
    return '';
  }
}
