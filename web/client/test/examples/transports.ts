import { createChatTransport, resumableFetch } from '@headwater/client/transports';

// useChat({ id, transport, resume: true }) of @ai-sdk/react
export const transport = createChatTransport({ api: '/v1/ai-sdk/chat?agent=chat' });

// fetchServerSentEvents('/v1/ag-ui/chat?profile=tanstack', { fetchClient }) of @tanstack/ai-react
export const fetchClient = resumableFetch();
