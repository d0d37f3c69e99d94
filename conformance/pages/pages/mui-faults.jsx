// A ChatBox with attachments whose adapter gives up early; it shows the arguments of its callbacks.

import { ChatBox } from '@mui/x-chat';
import { useChat } from '@mui/x-chat/headless';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createHeadwaterAdapter } from '@headwater/mui';
import { Question } from './cards.jsx';
import { agent, conversation, server } from './settings.js';

const adapter = createHeadwaterAdapter({ url: `${server}/v1/mui/${agent}/chat`, retries: 1 });

const partRenderers = {
  file: ({ part }) => <img src={part.url} alt={part.filename} />,
  tool({ part: { toolInvocation } }) {
    const { toolCallId, input, output } = toolInvocation;
    const answer = (output) => adapter.addToolOutput({ toolCallId, output });
    return <Question text={input.question} options={input.options} answer={output} onAnswer={answer} />;
  },
};

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
  const [notes, setNotes] = useState([]);
  const note = (line) => setNotes((notes) => [...notes, line]);
  return (
    <>
      <ChatBox
        adapter={adapter}
        initialActiveConversationId={conversation}
        partRenderers={partRenderers}
        onError={({ source, message }) => note(`error of ${source}: ${message}`)}
        onFinish={({ isDisconnect, isError }) => note(`finished: isDisconnect ${isDisconnect}, isError ${isError}`)}
        slots={{ composerHelperText: Actions }}
        features={{ conversationHeader: false }}
      />
      <ul className="notes">{notes.map((line, at) => <li key={at}>{line}</li>)}</ul>
    </>
  );
}

createRoot(document.querySelector('#root')).render(<Chat />);
