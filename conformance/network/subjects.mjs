/**
 * Each client with each of its servers. `where` is what a page knows of a server: `api`, and where the conversations are kept, if they
 * are.
 */
const session = (base, id) => `${base}/v1/sessions/${id}/messages?dialect=ai-sdk`;

export const subjects = [
  {
    client: 'ai-sdk',
    name: 'AI SDK `useChat`',
    server: '`streamText` of `ai`',
    file: 'ai-sdk',
    variant: 'plain',
    where: (base) => ({ api: `${base}/chat` }),
  },
  {
    client: 'ai-sdk',
    name: 'AI SDK `useChat`',
    server: '`streamText`, `resumable-stream` on Redis',
    file: 'ai-sdk',
    variant: 'resumable',
    where: (base, id) => ({ api: `${base}/chat`, history: `${base}/chat/${id}/messages` }),
  },
  {
    client: 'ai-sdk',
    name: 'AI SDK `useChat`',
    server: 'Headwater',
    file: 'headwater',
    where: (base, id) => ({ api: `${base}/v1/ai-sdk/network/chat?profile=ai-7`, history: session(base, id) }),
  },
  {
    client: 'tanstack',
    name: 'TanStack AI `ChatClient`',
    server: '`chat()` of `@tanstack/ai`',
    file: 'tanstack',
    variant: 'plain',
    where: (base) => ({ api: `${base}/chat` }),
  },
  {
    client: 'tanstack',
    name: 'TanStack AI `ChatClient`',
    server: '`chat()` with `memoryStream`',
    file: 'tanstack',
    variant: 'resumable',
    where: (base) => ({ api: `${base}/chat` }),
  },
  {
    client: 'tanstack',
    name: 'TanStack AI `ChatClient`',
    server: 'Headwater',
    file: 'headwater',
    where: (base) => ({ api: `${base}/v1/ag-ui/network/chat`, persists: true }),
  },
  {
    client: 'ag-ui',
    name: 'AG-UI `HttpAgent`',
    server: '`@ag-ui/encoder`',
    file: 'ag-ui',
    variant: 'plain',
    where: (base) => ({ api: `${base}/chat` }),
  },
  {
    client: 'ag-ui',
    name: 'AG-UI `HttpAgent`',
    server: 'Headwater',
    file: 'headwater',
    where: (base) => ({ api: `${base}/v1/ag-ui/network/chat` }),
  },
  {
    client: 'copilotkit',
    name: 'CopilotKit core',
    server: '`@copilotkit/runtime`, threads in memory',
    file: 'copilotkit',
    variant: 'plain',
    where: (base) => ({ api: `${base}/copilotkit` }),
  },
  {
    client: 'copilotkit',
    name: 'CopilotKit core',
    server: 'Headwater',
    file: 'headwater',
    where: (base) => ({ api: `${base}/v1/ag-ui` }),
  },
];
