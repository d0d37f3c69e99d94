import { AssistantChatTransport, useChatRuntime } from '@assistant-ui/react-ai-sdk';
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { agent, conversation, server } from '../../pages/settings.js';
import { mount } from './assistant-ui.jsx';

const transport = new AssistantChatTransport({ api: `${server}/v1/ai-sdk/${agent}/chat?profile=ai-7` });

mount(() =>
  useChatRuntime({
    ...(conversation && { id: conversation }),
    transport,
    sendAutomaticallyWhen: (chat) =>
      lastAssistantMessageIsCompleteWithToolCalls(chat) || lastAssistantMessageIsCompleteWithApprovalResponses(chat),
  }),
);
