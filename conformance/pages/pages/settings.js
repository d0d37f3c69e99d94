// What the address of a page says: the server, the agent, and the name of the conversation; and what the tests watch.

const query = new URLSearchParams(location.search);

export const server = query.get('server');
export const agent = query.get('agent');
/** Absent where the library shall choose. */
export const conversation = query.get('chat') ?? undefined;

/** The page's own tool. The tests count how often it is executed, reloads included. */
export function locate() {
  sessionStorage.setItem('executions', String(Number(sessionStorage.getItem('executions') ?? 0) + 1));
  return { city: 'Bergen' };
}

/** Notes that a callback of the page got data of this name. */
export function receive(name) {
  (window.received ??= []).push(name);
}
