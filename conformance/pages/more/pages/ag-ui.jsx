// A page on `HttpAgent` of AG-UI, as its quick start has it: the agent has the messages, the page runs it and shows them. The
// library keeps nothing, and leaves tools of the page and interrupts to it.

import { HttpAgent, randomUUID } from '@ag-ui/client';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Composer, Controls, Edit } from '../../pages/cards.jsx';
import { agent as name, conversation, locate, receive, server } from '../../pages/settings.js';
import { Activity, Calls, Interrupt } from './ag-ui-parts.jsx';

const agent = new HttpAgent({ url: `${server}/v1/ag-ui/${name}/chat`, ...(conversation && { threadId: conversation }) });

const tools = [{ name: 'get_location', description: 'Where the person is', parameters: { type: 'object', properties: {} } }];

/** The calls of the page's tools that have no result yet. */
function openCalls() {
  const results = new Set(agent.messages.map(({ toolCallId }) => toolCallId));
  const calls = agent.messages.flatMap(({ toolCalls }) => toolCalls ?? []);
  return calls.filter((call) => call.function.name === 'get_location' && !results.has(call.id));
}

/** Runs the agent, and again as long as it calls tools of the page. */
async function run(parameters = {}) {
  await agent.runAgent({ tools, ...parameters });
  const calls = openCalls();
  for (const { id } of calls) {
    agent.addMessage({ id: randomUUID(), role: 'tool', toolCallId: id, content: JSON.stringify(locate()) });
  }
  if (calls.length > 0) await run();
}

function Chat() {
  const [messages, setMessages] = useState([]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const [interrupts, setInterrupts] = useState([]);

  useEffect(() => {
    const { unsubscribe } = agent.subscribe({
      onMessagesChanged: ({ messages }) => setMessages([...messages]),
      onRunFinishedEvent: ({ event }) => setInterrupts(event.outcome?.interrupts ?? []),
      onRunErrorEvent: ({ event }) => setError(event.message),
      onCustomEvent: ({ event }) => receive(event.name),
    });
    return unsubscribe;
  }, []);

  const start = async (parameters) => {
    setBusy(true);
    setError(null);
    setInterrupts([]);
    await run(parameters).catch((error) => error.name !== 'AbortError' && setError(error.message));
    setBusy(false);
  };
  const send = (content) => {
    agent.addMessage({ id: randomUUID(), role: 'user', content });
    void start();
  };
  const keepBefore = (id) => agent.setMessages(messages.slice(0, messages.findIndex((message) => message.id === id)));
  const edit = (id, text) => {
    keepBefore(id);
    send(text);
  };
  const regenerate = () => {
    agent.setMessages(messages.slice(0, messages.findLastIndex(({ role }) => role === 'user') + 1));
    void start();
  };
  const resolve = (interruptId, payload) => start({ resume: [{ interruptId, status: 'resolved', payload }] });

  return (
    <main>
      {/* Results are shown with their calls. */}
      {messages.filter(({ role }) => role !== 'tool').map((message) => (
        <section key={message.id} className={`message ${message.role}`}>
          {message.role === 'activity' && <Activity type={message.activityType} content={message.content} />}
          {['user', 'assistant', 'reasoning'].includes(message.role) && <p className="text">{message.content}</p>}
          {message.toolCalls && <Calls calls={message.toolCalls} messages={messages} />}
          {message.role === 'user' && <Edit text={message.content} onEdit={(text) => edit(message.id, text)} />}
        </section>
      ))}
      {interrupts.map((interrupt) => (
        <Interrupt key={interrupt.id} interrupt={interrupt} onResolve={(payload) => resolve(interrupt.id, payload)} />
      ))}
      {error && <p className="error">{error}</p>}
      <Controls Stop={() => agent.abortRun()} Regenerate={regenerate} Clear={() => agent.setMessages([])} />
      <Composer busy={busy} onSend={send} />
    </main>
  );
}

createRoot(document.querySelector('#root')).render(<Chat />);
