// A page of MUI X Chat, as its quick start has it, with our adapter. Objects and questions are parts with renderers of the page.

import { createRoot } from 'react-dom/client';
import { ChatBox } from '@mui/x-chat';
import { ToolPart, useChat } from '@mui/x-chat/headless';
import { createHeadwaterAdapter } from '@headwater/mui';
import { Case, Draft, FollowUps, Itinerary, Question, Table } from './cards.jsx';
import { agent, conversation, locate, server } from './settings.js';

const adapter = createHeadwaterAdapter({ url: `${server}/v1/mui/${agent}/chat` });

const partRenderers = {
  'data-email.compose': ({ part }) => <Draft {...part.data} />,
  'data-table': ({ part }) => <Table {...part.data} />,
  'data-itinerary': ({ part }) => <Itinerary {...part.data} />,
  'data-support.case': ({ part }) => <Case {...part.data} />,
  'data-follow-ups': ({ part }) => <FollowUps {...part.data} />,
  // MUI's own part shows no picture from a `data:` URL.
  file: ({ part }) => <img src={part.url} alt={part.filename ?? part.mediaType} />,
  tool(props) {
    const { toolCallId, toolName, input, output } = props.part.toolInvocation;
    if (toolName !== 'ask_user') return <ToolPart {...props} className="card tool" />;
    const answer = (output) => adapter.addToolOutput({ toolCallId, output });
    return <Question text={input.question} options={input.options} answer={output} onAnswer={answer} />;
  },
};

/** ChatBox has buttons for neither: both are actions of its hook. */
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

function Chat() {
  return (
    <ChatBox
      adapter={adapter}
      initialActiveConversationId={conversation}
      partRenderers={partRenderers}
      onToolCall={({ toolCall }) => {
        if (toolCall.toolName !== 'get_location' || toolCall.state !== 'input-available') return;
        void adapter.addToolOutput({ toolCallId: toolCall.toolCallId, output: locate() });
      }}
      slots={{ composerHelperText: Actions }}
      features={{ conversationHeader: false, attachments: false }}
    />
  );
}

createRoot(document.querySelector('#root')).render(<Chat />);
