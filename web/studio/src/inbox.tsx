import type { Interrupt, WaitingInterrupt } from '@headwater/client';
import { api } from './api';
import { AskCard, type Ask } from './chat/cards';
import { ago } from './format';
import { Icon } from './icon';
import type { Library } from './library';
import { formatRoute } from './route';

/** Everything that waits for the person, in all runs. */
export function Inbox({ library, onMenu, onRefresh, onMore }: { library: Library; onMenu: () => void; onRefresh: () => void; onMore: () => void }) {
  const { interrupts, sessions, runs } = library;
  return (
    <main class="inbox" aria-label="Waits for you">
      <header class="bar">
        <button type="button" class="quiet menu" aria-label="Sessions" onClick={onMenu}><Icon name="menu" /></button>
        <h1>Waits for you</h1>
      </header>
      <div class="log" tabIndex={0}>
        <div class="column">
          {library.isLoaded && interrupts.length === 0 && <section class="empty"><h2>Nothing waits</h2><p>Questions and approvals of all runs appear here, and stay until they are answered.</p></section>}
          {interrupts.map((open) => {
            const session = sessions.find(({ id }) => id === open.session);
            const run = runs.find(({ id }) => id === open.run);
            const href = formatRoute(open.session ? { view: 'session', session: open.session } : { view: 'run', run: open.run, tab: 'timeline' });
            return (
              <article key={open.request} class="waiting">
                <p class="meta">
                  <span class="agent">{session?.agent ?? run?.agent ?? ''}</span>
                  <a href={href}>{session?.label ?? open.run}</a>
                  <time dateTime={open.askedAt}>{ago(open.askedAt)}</time>
                </p>
                <AskCard
                  ask={askOf(open)}
                  onAnswer={(answer) => api(`interrupts/${encodeURIComponent(open.request)}`, { method: 'POST', body: { ...answer, request: open.request } }).finally(onRefresh)}
                />
              </article>
            );
          })}
          {library.hasMoreInterrupts && <button type="button" class="older" onClick={onMore}>More that waits</button>}
        </div>
      </div>
    </main>
  );
}

function askOf({ kind, request, tool, input, interrupt }: WaitingInterrupt): Ask {
  if (kind !== 'question') return { kind, request, name: tool?.name ?? '', title: (tool as { title?: string } | null)?.title, input };
  const { question = '', kind: answers = 'text', multiple = false, options = [] } = (interrupt ?? {}) as Partial<Interrupt>;
  return { kind, request, question, answers, multiple, options };
}
