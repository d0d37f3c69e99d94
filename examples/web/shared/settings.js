// Where the page finds its agent, and which conversation it shows. All of it is in the address, so a reload opens the same
// conversation: ?server=http://127.0.0.1:8787&agent=chat&chat=<id>

const query = new URLSearchParams(location.search);

export const server = query.get('server') ?? 'http://127.0.0.1:8787';
export const agent = query.get('agent') ?? 'chat';
export const chatId = query.get('chat') ?? newChat();

function newChat() {
  const id = crypto.randomUUID();
  history.replaceState(null, '', address(agent, id));
  return id;
}

/** The address of this page for an agent; without a conversation it begins a new one. */
export function address(agent, chat) {
  const { server } = Object.fromEntries(query);
  return `?${new URLSearchParams({ ...(server && { server }), agent, ...(chat && { chat }) })}`;
}

/** The demo agents of `headwater serve`, and what to say to each. */
export const AGENTS = {
  travel: ['3 days in Lisbon in May', 'A relaxed weekend in Copenhagen'],
  research: ['How do heat pumps work in winter?'],
  support: ['My order 1042 arrived broken'],
  chat: ['hello', 'slow', 'what did I say?'],
  email: ['the new boat'],
  tools: ['weather in Paris', 'delete notes.txt', 'where am I?'],
  table: ['planets', 'rivers'],
};

/** The tool that this page executes for the agent `tools`. A real page would ask the browser. */
export async function getLocation() {
  return { city: 'Bergen' };
}
