// The addresses of a server, and the few requests that a page makes besides its client's own.

import { until } from './until.mjs';

/** Where a dialect's own client is pointed at. */
export function endpoint({ base, agent, profile }, dialect, after = '') {
  const query = new URLSearchParams({ agent, ...(profile ? { profile } : {}) });
  return `${base}/v1/${dialect}/chat${after}?${query}`;
}

export async function get({ base, fetch = globalThis.fetch }, path) {
  const response = await until(`an answer to GET ${path}`, () => fetch(`${base}${path}`).catch(() => null));
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** What the network lost is asked again; an answer, a decision and a stop count once. */
export async function post({ base, fetch = globalThis.fetch }, path, body) {
  const response = await until(`an answer to POST ${path}`, () =>
    fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).catch(() => null),
  );
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** What a run waits for. */
export async function waitsFor(where) {
  const { waitsFor } = await (await get(where, `/v1/runs/${where.run()}`)).json();
  return waitsFor;
}

/** Gives the output of a call that the page executed, where a client has no way to send it. */
export async function giveOutput(where, call, output) {
  // The call is shown before the run waits for it.
  const asked = await until('the run to wait for the call', async () =>
    (await waitsFor(where)).find(({ tool }) => tool?.call === call),
  );
  await post(where, `/v1/runs/${where.run()}/answer`, { request: asked.request, output });
}

/** Stopping is a request of its own; closing the connection is only leaving. */
export async function stop(where) {
  await post(where, `/v1/runs/${where.run()}/stop`, {});
}
