import { CopilotChat, CopilotKitProvider, useFrontendTool, useInterrupt } from '@copilotkit/react-core/v2';
import '@copilotkit/react-core/v2/styles.css';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';
import { agent, chatId, getLocation, server } from '../shared/settings.js';
import { Approval, DataCard, Question, Shell, Tool } from '../shared/ui.jsx';

// region: renderers
/** Objects of the agent, by the name of their type. */
const activities = ['email.compose', 'table', 'itinerary', 'support.case'].map((activityType) => ({
  activityType,
  content: z.any(),
  render: ({ content }) => <DataCard type={activityType} data={content} />,
}));

const toolCalls = [
  {
    name: '*',
    args: z.any(),
    render: ({ name, status, result }) => <Tool name={name} done={status === 'complete'}>{result}</Tool>,
  },
];
// endregion

function Chat() {
  // region: chat
  useFrontendTool({
    name: 'get_location',
    description: 'Where the person is',
    parameters: z.object({}),
    handler: getLocation,
  });

  useInterrupt({
    agentId: agent,
    render({ interrupt: { message, toolCallId, metadata }, resolve }) {
      if (!toolCallId) return <Question question={message} options={metadata?.options} onAnswer={resolve} />;
      return <Approval tool={metadata?.toolName} input={metadata?.input} onDecide={(approved) => resolve({ approved })} />;
    },
  });

  return <CopilotChat agentId={agent} threadId={chatId} />;
  // endregion
}

// region: provider
createRoot(document.querySelector('#root')).render(
  <CopilotKitProvider
    runtimeUrl={`${server}/v1/ag-ui`}
    renderToolCalls={toolCalls}
    renderActivityMessages={activities}
    showDevConsole={false}
  >
    <Shell title="CopilotKit">
      <div className="chat-box">
        <Chat />
      </div>
    </Shell>
  </CopilotKitProvider>,
);
// endregion
