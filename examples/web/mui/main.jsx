import { ChatBox } from '@mui/x-chat';
import { ToolPart, useChat } from '@mui/x-chat/headless';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
// region: adapter
import { createHeadwaterAdapter } from '@headwater/mui';
// endregion
import { agent, chatId, getLocation, server } from '../shared/settings.js';
import { DataCard, Question, Shell } from '../shared/ui.jsx';

// region: adapter
const adapter = createHeadwaterAdapter({ url: `${server}/v1/mui/${agent}/chat` });
// endregion

// region: parts
const partRenderers = {
  'data-email.compose': ({ part }) => <DataCard type="email.compose" data={part.data} />,
  'data-table': ({ part }) => <DataCard type="table" data={part.data} />,
  'data-itinerary': ({ part }) => <DataCard type="itinerary" data={part.data} />,
  'data-support.case': ({ part }) => <DataCard type="support.case" data={part.data} />,
  'data-follow-ups': () => null,
  // MUI's own part shows no picture from a `data:` URL.
  file: ({ part }) => (part.mediaType.startsWith('image/') ? <img src={part.url} alt={part.filename ?? ''} /> : <a href={part.url}>{part.filename}</a>),
  tool(props) {
    const { toolCallId, toolName, input, output } = props.part.toolInvocation;
    if (toolName !== 'ask_user') return <ToolPart {...props} className="card tool" />;
    return <Question {...input} answer={output} onAnswer={(output) => adapter.addToolOutput({ toolCallId, output })} />;
  },
};
// endregion

// region: actions
/** ChatBox has a button for neither: both are actions of its hook. */
function Actions() {
  const { messages, isStreaming, stopStreaming, regenerate } = useChat();
  const answer = messages.findLast(({ role }) => role === 'assistant');
  return (
    <div className="actions">
      {isStreaming && <button type="button" onClick={() => stopStreaming()}>Stop</button>}
      {answer && !isStreaming && <button type="button" onClick={() => void regenerate(answer.id)}>Regenerate</button>}
    </div>
  );
}
// endregion

function Chat() {
  const [isLost, setLost] = useState(false);
  return (
    <Shell title="MUI X Chat">
      {isLost && <p className="error banner">The connection was lost. Reload to continue where it was.</p>}
      <div className="chat-box">
        {/* region: chat */}
        <ChatBox
          adapter={adapter}
          initialActiveConversationId={chatId}
          partRenderers={partRenderers}
          onToolCall={async ({ toolCall: { toolCallId, toolName, state } }) => {
            if (toolName !== 'get_location' || state !== 'input-available') return;
            await adapter.addToolOutput({ toolCallId, output: await getLocation() });
          }}
          onFinish={({ isDisconnect }) => setLost(isDisconnect)}
          slots={{ composerHelperText: Actions }}
          features={{ conversationHeader: false }}
        />
        {/* endregion */}
      </div>
    </Shell>
  );
}

createRoot(document.querySelector('#root')).render(<Chat />);
