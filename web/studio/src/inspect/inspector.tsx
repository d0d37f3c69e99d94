import type { Chat } from '@headwater/client';
import { useEffect, useState } from 'preact/hooks';
import { listRuns, type Agent, type Run } from '../api';
import type { Conversation } from '../conversation';
import { ago } from '../format';
import { Icon } from '../icon';
import { go, hasMoment, TABS, type Route, type Tab } from '../route';
import type { RunFacts } from '../run-facts';
import { Connect } from './connect';
import { useRecords } from './records';
import { Reliability } from './reliability';
import { StateView } from './state';
import { Timeline } from './timeline';
import { Wire } from './wire';

const TITLES: Record<Tab, string> = { timeline: 'Timeline', wire: 'Wire', state: 'State', connect: 'Connect', reliability: 'Reliability' };

interface Props {
  route: Exclude<Route, { view: 'inbox' }>;
  tab: Tab;
  conversation: Conversation | undefined;
  facts: RunFacts;
  agent: string;
  agents: readonly Agent[];
}

/** The latest run of a conversation. Other changes of the conversation draw nothing here. */
function useLatestRun(chat: Chat | undefined): string | undefined {
  const [, setRun] = useState<string>();
  useEffect(() => {
    if (!chat) return;
    const read = () => setRun(chat.getSnapshot().run);
    read();
    return chat.subscribe(read);
  }, [chat]);
  return chat?.getSnapshot().run;
}

// One component with and without a conversation: a run that is opened by its own URL gets one, and is not read again for it.
export function Inspector({ route, tab, conversation, facts, agent, agents }: Props) {
  const latest = useLatestRun(conversation?.chat);
  const named = route.view === 'run' || (route.view === 'session' && route.run !== '-') ? route.run : undefined;
  const run = named ?? latest;
  const { records, frames, bytes, isComplete, error } = useRecords(hasMoment(tab) ? run : undefined, facts);
  const seq = route.view === 'new' ? undefined : route.seq;
  const to = (change: { tab?: Tab | undefined; run?: string | undefined; seq?: number | undefined }, replace = false) => {
    if (route.view === 'new') go({ ...route, tab: 'tab' in change ? change.tab : tab }, { replace });
    else if (route.view === 'run') go({ view: 'run', run: route.run, tab: change.tab ?? tab, seq: change.seq }, { replace });
    else go({ view: 'session', session: route.session, tab: 'tab' in change ? change.tab : tab, run: 'run' in change ? change.run : route.run, seq: change.seq }, { replace });
  };
  const onSeq = (now: number | undefined) => to({ seq: now, run: run === latest && route.view === 'session' && now === undefined ? route.run : run }, true);
  return (
    <aside class="inspector" aria-label="Inspector">
      <header class="bar">
        <div class="tabs" role="tablist" aria-label="Views of the run" onKeyDown={(event) => moveTab(event, (name) => to({ tab: name, seq: hasMoment(name) ? seq : undefined }))}>
          {TABS.map((name) => (
            <button key={name} type="button" role="tab" aria-selected={name === tab} tabIndex={name === tab ? 0 : -1} onClick={() => to({ tab: name, seq: hasMoment(name) ? seq : undefined })}>{TITLES[name]}</button>
          ))}
        </div>
        {route.view !== 'run' && <button type="button" class="quiet" aria-label="Close the inspector" title="Close" onClick={() => to({ tab: undefined })}><Icon name="cross" /></button>}
      </header>
      {run && tab !== 'connect' && tab !== 'reliability' && (
        <RunPicker session={conversation?.session} run={run} latest={latest} onPick={(picked) => to({ run: picked, seq: undefined })} />
      )}
      <div class="body" role="tabpanel" aria-label={TITLES[tab]}>
        {error && <section class="empty"><h2>No run to show</h2><p role="alert">{error.message}</p></section>}
        {!run && tab !== 'connect' && tab !== 'reliability' && <p class="soft pad">There is no run yet. Send a message.</p>}
        {run && tab === 'timeline' && (
          <Timeline key={run} run={run} records={records} frames={frames} isComplete={isComplete} agents={agents} seq={seq} onSeq={onSeq} onTab={(name) => to({ tab: name, run, seq })} />
        )}
        {run && tab === 'wire' && <Wire key={run} run={run} records={records} native={{ frames, bytes, state: isComplete ? 'ended' : 'open' }} seq={seq} onSeq={onSeq} />}
        {run && tab === 'state' && <StateView key={run} run={run} conversation={conversation} records={records} seq={seq} onSeq={onSeq} />}
        {tab === 'connect' && <Connect agent={agent} />}
        {tab === 'reliability' && <Reliability conversation={conversation} />}
      </div>
    </aside>
  );
}

/** The arrow keys go from tab to tab. */
function moveTab(event: KeyboardEvent, onTab: (tab: Tab) => void): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const tabs = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')];
  const at = tabs.indexOf(document.activeElement as HTMLElement);
  if (!step || at < 0) return;
  event.preventDefault();
  const next = (at + step + tabs.length) % tabs.length;
  tabs[next]?.focus();
  onTab(TABS[next] as Tab);
}

/** Which run of the conversation is shown. */
function RunPicker({ session, run, latest, onPick }: { session: string | undefined; run: string; latest: string | undefined; onPick: (run: string | undefined) => void }) {
  const [runs, setRuns] = useState<Run[]>([]);
  useEffect(() => {
    if (!session) return;
    let isCurrent = true;
    void listRuns(`session=${encodeURIComponent(session)}&limit=50`).then((list) => isCurrent && setRuns(list), () => {});
    return () => void (isCurrent = false);
  }, [session, run, latest]);
  const known = runs.some(({ id }) => id === run);
  return (
    <div class="run-picker">
      {runs.length > 1 ? (
        <select aria-label="Run" value={run} onChange={(event) => onPick(event.currentTarget.value === latest ? undefined : event.currentTarget.value)}>
          {!known && <option value={run}>{run}</option>}
          {runs.map(({ id, status, createdAt }, at) => <option key={id} value={id}>{`run ${runs.length - at} · ${status} · ${ago(createdAt)}`}</option>)}
        </select>
      ) : null}
      <code>{run}</code>
    </div>
  );
}
