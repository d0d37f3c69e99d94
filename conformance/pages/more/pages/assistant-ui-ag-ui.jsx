// The version that the runtime is made for.
import { HttpAgent } from '@ag-ui/client-v0';
import { useAgUiInterrupts, useAgUiRuntime, useAgUiSubmitInterruptResponses } from '@assistant-ui/react-ag-ui';
import { agent as name, conversation, receive, server } from '../../pages/settings.js';
import { Interrupt } from './ag-ui-parts.jsx';
import { mount } from './assistant-ui.jsx';

const agent = new HttpAgent({ url: `${server}/v1/ag-ui/${name}/chat?profile=assistant-ui`, ...(conversation && { threadId: conversation }) });
agent.subscribe({ onCustomEvent: ({ event }) => receive(event.name) });

/** The questions that the run waits for, by the runtime's hooks. Approvals are shown with their calls. */
function Interrupts() {
  const interrupts = useAgUiInterrupts().filter(({ toolCallId }) => !toolCallId);
  const submit = useAgUiSubmitInterruptResponses();
  return interrupts.map((interrupt) => (
    <Interrupt
      key={interrupt.id}
      interrupt={interrupt}
      onResolve={(payload) => void submit([{ interruptId: interrupt.id, status: 'resolved', payload }])}
    />
  ));
}

mount(() => useAgUiRuntime({ agent }), <Interrupts />);
