import { AssistantChatTransport, useChatRuntime } from '@assistant-ui/react-ai-sdk';
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { agent, server } from '../../pages/settings.js';
import { mount } from './assistant-ui.jsx';

// The runtime names its threads itself.
const transport = new AssistantChatTransport({ api: `${server}/v1/ai-sdk/${agent}/chat?profile=ai-7` });

mount(() =>
  useChatRuntime({
    transport,
    sendAutomaticallyWhen: (chat) =>
      lastAssistantMessageIsCompleteWithToolCalls(chat) || lastAssistantMessageIsCompleteWithApprovalResponses(chat),
  }),
);
