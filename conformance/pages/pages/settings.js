// What the address of a page says: the server, the agent, and the name of the conversation.

const query = new URLSearchParams(location.search);

export const server = query.get('server');
export const agent = query.get('agent');
export const conversation = query.get('chat');
