// A page of CopilotKit, as its quick start and its guides on frontend tools, interrupts and generative UI have it: `CopilotChat`
// with callbacks for what it leaves to the page. `copilotkit` and `copilotkit-http` are this with their own way to the agent.

import { CopilotChat, CopilotKitProvider, randomUUID, useAgent, useCopilotKit, useFrontendTool, useInterrupt } from '@copilotkit/react-core/v2';
import '@copilotkit/react-core/v2/styles.css';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';
import { Controls, ToolCall } from '../../pages/cards.jsx';
import { agent as agentId, conversation, locate, receive } from '../../pages/settings.js';
import { Activity, Interrupt } from './ag-ui-parts.jsx';

const activities = ['table', 'email.compose'].map((activityType) => ({
  activityType,
  content: z.any(),
  render: ({ content }) => <Activity type={activityType} content={content} />,
}));

const toolCalls = [
  {
    name: '*',
    args: z.any(),
    render: ({ name, status, result }) => (
      <ToolCall name={name} state={status}>
        {result}
      </ToolCall>
    ),
  },
];

function Chat() {
  const { agent } = useAgent({ agentId });
  const { copilotkit } = useCopilotKit();
  const [edited, setEdited] = useState(null);

  useFrontendTool({
    name: 'get_location',
    description: 'Where the person is',
    parameters: z.object({}),
    handler: async () => locate(),
  });
  useInterrupt({
    agentId,
    render: ({ interrupt, resolve }) => <Interrupt interrupt={interrupt} onResolve={(payload) => resolve(payload)} />,
  });

  const keepBefore = (id) => agent.setMessages(agent.messages.slice(0, agent.messages.findIndex((message) => message.id === id)));
  const regenerate = () => {
    agent.setMessages(agent.messages.slice(0, agent.messages.findLastIndex(({ role }) => role === 'user') + 1));
    void copilotkit.runAgent({ agent });
  };
  const sendEdited = (event) => {
    event.preventDefault();
    keepBefore(edited.id);
    agent.addMessage({ id: randomUUID(), role: 'user', content: event.currentTarget.elements.edited.value });
    setEdited(null);
    void copilotkit.runAgent({ agent });
  };

  return (
    <div className="copilot">
      {edited && (
        <form onSubmit={sendEdited}>
          <input name="edited" aria-label="Edited message" defaultValue={edited.content} />
        </form>
      )}
      <Controls Regenerate={regenerate} Clear={() => agent.setMessages([])} />
      <CopilotChat
        agentId={agentId}
        {...(conversation && { threadId: conversation })}
        messageView={{ userMessage: { onEditMessage: ({ message }) => setEdited(message) } }}
      />
    </div>
  );
}

/** The names of custom events, as the guide on them subscribes to the agent. */
function CustomEvents() {
  const { agent } = useAgent({ agentId });
  useEffect(() => agent.subscribe({ onCustomEvent: ({ event }) => receive(event.name) }).unsubscribe, [agent]);
  return null;
}

export function mount(props) {
  createRoot(document.querySelector('#root')).render(
    <CopilotKitProvider {...props} renderToolCalls={toolCalls} renderActivityMessages={activities} showDevConsole={false}>
      <CustomEvents />
      <Chat />
    </CopilotKitProvider>,
  );
}
