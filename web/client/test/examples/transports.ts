import * as agUi from '@ag-ui/client';
import { createConnection, withConnect } from '@headwater/client/transports';
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client';

/** AG-UI: `connectAgent()` reads the thread, and the rest of the run that is active. */
export async function messagesOfThread(url: string, threadId: string) {
  const HeadwaterAgent = withConnect(agUi);
  const agent = new HeadwaterAgent({ url: `${url}/v1/ag-ui/chat/chat`, threadId });
  await agent.connectAgent();
  return agent.messages;
}

/** TanStack AI: `useChat({ threadId, persistence: true, connection })` of `@tanstack/ai-react` takes the connection, too. */
export async function ask(url: string, threadId: string, text: string) {
  const connection = createConnection(fetchServerSentEvents, `${url}/v1/ag-ui/chat/chat?profile=tanstack`);
  const client = new ChatClient({ threadId, connection });
  await client.sendMessage(text);
  return client.getMessages();
}
