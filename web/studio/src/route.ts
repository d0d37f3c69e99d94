import { useEffect, useState } from 'preact/hooks';

export const TABS = ['timeline', 'wire', 'state', 'connect', 'reliability'] as const;
export type Tab = (typeof TABS)[number];

/** The views that show a run at one of its records. */
export const hasMoment = (tab: Tab | undefined): boolean => tab === 'timeline' || tab === 'wire' || tab === 'state';

/** What the page shows. Every one of them has a URL. */
export type Route =
  | { view: 'new'; agent?: string | undefined; tab?: Tab | undefined }
  | { view: 'session'; session: string; tab?: Tab | undefined; run?: string | undefined; seq?: number | undefined }
  | { view: 'run'; run: string; tab?: Tab | undefined; seq?: number | undefined }
  | { view: 'inbox' };

export function parseRoute(hash: string): Route {
  const [view, id, tab, ...rest] = hash.replace(/^#\/?/, '').split('/').map(decode);
  const known = TABS.find((name) => name === tab);
  if (view === 'inbox') return { view };
  if (view === 'session' && id) return { view, session: id, tab: known, run: rest[0] || undefined, seq: numberOf(rest[1]) };
  if (view === 'run' && id) return { view, run: id, tab: known ?? 'timeline', seq: numberOf(rest[0]) };
  return { view: 'new', agent: id || undefined, tab: known };
}

export function formatRoute(route: Route): string {
  const parts: (string | number | undefined)[] = [route.view];
  if (route.view === 'new') parts.push(route.agent ?? (route.tab && '-'), route.tab);
  if (route.view === 'session') parts.push(route.session, route.tab, route.tab && (route.run ?? (route.seq && '-')), route.tab && route.seq);
  if (route.view === 'run') parts.push(route.run, route.tab, route.tab && route.seq);
  return `#/${parts.filter((part) => part !== undefined && part !== '').map((part) => encodeURIComponent(part as string)).join('/')}`;
}

/** Goes there; `replace` leaves no entry in the history. */
export function go(route: Route, { replace = false } = {}): void {
  const hash = formatRoute(route);
  if (hash === location.hash) return;
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, '', hash);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    window.addEventListener('hashchange', changed);
    return () => window.removeEventListener('hashchange', changed);
  }, []);
  return parseRoute(hash);
}

const numberOf = (text: string | undefined): number | undefined => (text && /^\d+$/.test(text) ? Number(text) : undefined);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
