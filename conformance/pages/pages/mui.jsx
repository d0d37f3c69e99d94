// A page of MUI X Chat, as its quick start has it, with our adapter. Objects and questions are parts with renderers of the page.

import { createRoot } from 'react-dom/client';
import { ChatBox } from '@mui/x-chat';
import { ToolPart } from '@mui/x-chat/headless';
import { createHeadwaterAdapter } from '../../../web/mui/adapter.js';
import { Draft, Grid, Progress, Question } from './cards.jsx';
import { agent, conversation, server } from './settings.js';

const adapter = createHeadwaterAdapter({ url: `${server}/v1/mui/${agent}/chat` });

const partRenderers = {
  'data-email.compose': ({ part }) => <Draft {...part.data} />,
  'data-table': ({ part }) => <Grid {...part.data} />,
  'data-progress': ({ part }) => <Progress {...part.data} />,
  // MUI's own part shows no picture from a `data:` URL.
  file: ({ part }) => <img src={part.url} alt={part.filename ?? part.mediaType} />,
  tool(props) {
    const { toolCallId, toolName, input, output } = props.part.toolInvocation;
    if (toolName !== 'ask_user') return <ToolPart {...props} className="card tool" />;
    const answer = (output) => adapter.addToolOutput({ toolCallId, output });
    return <Question text={input.question} options={input.options} answer={output} onAnswer={answer} />;
  },
};

function Chat() {
  return (
    <ChatBox
      adapter={adapter}
      initialActiveConversationId={conversation}
      partRenderers={partRenderers}
      onToolCall={({ toolCall }) => {
        if (toolCall.toolName !== 'get_location' || toolCall.state !== 'input-available') return;
        void adapter.addToolOutput({ toolCallId: toolCall.toolCallId, output: { city: 'Bergen' } });
      }}
      features={{ conversationHeader: false, attachments: false }}
    />
  );
}

createRoot(document.querySelector('#root')).render(<Chat />);
