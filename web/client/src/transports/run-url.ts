/**
 * Where the events of a run are read again in the dialect and the profile of a route: `…/v1/<dialect>/…`. Other URLs have
 * none.
 */
export function eventsUrl(route: string, run: string | null): string | undefined {
  const [, base, dialect] = /^(.*)\/v1\/([^/?]+)/.exec(route) ?? [];
  if (!run || !dialect) return undefined;
  const profile = /[?&](profile=[^&#]*)/.exec(route)?.[1];
  return `${base}/v1/runs/${encodeURIComponent(run)}/events?dialect=${dialect}&until=wait${profile ? `&${profile}` : ''}`;
}
