// The addresses of a server, and the few requests that a page makes besides its client's own.

/** Where a dialect's own client is pointed at. */
export function endpoint({ base, agent, profile }, dialect, after = '') {
  const query = new URLSearchParams({ agent, ...(profile ? { profile } : {}) });
  return `${base}/v1/${dialect}/chat${after}?${query}`;
}

export async function get({ base, fetch = globalThis.fetch }, path) {
  const response = await fetch(`${base}${path}`);
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
  return response;
}

export async function post({ base, fetch = globalThis.fetch }, path, body) {
  const response = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** The newest run of a session. */
export async function runOf(where) {
  return (await runsOf(where)).at(-1)?.id;
}

/** The runs of a session, the oldest first. */
export async function runsOf(where) {
  const { runs } = await (await get(where, `/v1/runs?session=${encodeURIComponent(where.session)}`)).json();
  return runs;
}
