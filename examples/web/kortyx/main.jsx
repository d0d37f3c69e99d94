import { useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { agent, chatId, server } from '../shared/settings.js';
import { Text } from '../shared/markdown.jsx';
import { Composer, Conversation, DataCard, Failure, Message, Question, Shell, Suggestions, Tool } from '../shared/ui.jsx';

// region: stream
const url = `${server}/v1/kortyx/${agent}/chat`;

/** The chunks of a response: `data: ` lines of JSON, up to `[DONE]`. */
async function* readStream(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      if (block === 'data: [DONE]') return;
      if (block.startsWith('data: ')) yield JSON.parse(block.slice('data: '.length));
    }
  }
}
// endregion

// region: pieces
/** The pieces of an answer after one more chunk. */
function apply(pieces, chunk) {
  switch (chunk.type) {
    case 'text-delta':
      return put(pieces, { type: 'text', key: `${chunk.opId}:${chunk.segmentId}` }, (text = '') => text + chunk.delta);
    case 'message':
      return [...pieces, { type: 'text', key: `message ${pieces.length}`, value: chunk.content }];
    case 'structured-data':
      return put(pieces, { type: 'object', key: chunk.streamId, name: chunk.dataType }, (data) => change(data, chunk));
    case 'structured-data-invalidated':
      return pieces.filter(({ key }) => key !== chunk.streamId);
    case 'tool-call-start':
      return put(pieces, { type: 'tool', key: chunk.toolCallId, name: chunk.tool }, () => undefined);
    case 'tool-call-result':
    case 'tool-call-error':
      return put(pieces, { type: 'tool', key: chunk.toolCallId, name: chunk.tool }, () => chunk.content ?? chunk.message);
    case 'interrupt':
      return [...pieces, { type: 'interrupt', key: chunk.requestId, value: chunk }];
    default:
      return pieces;
  }
}

/** Changes the piece with the key, or adds it. */
function put(pieces, piece, change) {
  const known = pieces.find(({ key }) => key === piece.key);
  if (!known) return [...pieces, { ...piece, value: change() }];
  return pieces.map((each) => (each === known ? { ...each, value: change(each.value) } : each));
}

/** An object after one more chunk: a path is made of names and, in arrays, of places. */
function change(data, { kind, path, ...chunk }) {
  if (kind === 'final') return chunk.data;
  const step = (value, [name, ...rest]) => {
    if (name !== undefined) {
      const copy = Array.isArray(value) || /^\d+$/.test(name) ? [...(value ?? [])] : { ...value };
      copy[name] = step(copy[name], rest);
      return copy;
    }
    if (kind === 'append') return [...(value ?? []), ...chunk.items];
    if (kind === 'text-delta') return (value ?? '') + chunk.delta;
    return chunk.value;
  };
  return step(data, path.split('.'));
}
// endregion

// region: hook
/** A conversation: `send` a text, `respond` to an interrupt, `abort` what is being answered. */
function useChat(sessionId) {
  const [messages, setMessages] = useState([]);
  const [status, setStatus] = useState('submitted');
  const [error, setError] = useState(null);
  const begun = useRef(false);

  /** Reads a response into a message of its own. */
  const read = async (response) => {
    const id = crypto.randomUUID();
    setMessages((messages) => [...messages, { id, role: 'assistant', pieces: [] }]);
    setStatus('streaming');
    let isComplete = false;
    for await (const chunk of readStream(response.body)) {
      if (chunk.type === 'error') setError(chunk.message);
      isComplete ||= chunk.type === 'done';
      setMessages((messages) =>
        messages.map((message) => (message.id === id ? { ...message, pieces: apply(message.pieces, chunk) } : message)),
      );
    }
    if (!isComplete) throw new Error('The connection was lost. Reload to continue where it was.');
  };

  const ask = async (content, metadata) => {
    const message = { id: crypto.randomUUID(), role: 'user', content };
    setMessages((messages) => [...messages, { ...message, pieces: [{ type: 'text', key: 'text', value: content }] }]);
    setStatus('submitted');
    setError(null);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        // The session has the messages before this one.
        body: JSON.stringify({ sessionId, messages: [{ ...message, metadata }] }),
      });
      if (!response.ok) throw new Error((await response.json()).error);
      await read(response);
    } catch (error) {
      setError(error.message);
    }
    setStatus('ready');
  };

  // region: resume
  /** What the page has missed: the conversation, and the run that is active or was the last. */
  const resume = async () => {
    const history = await fetch(`${server}/v1/sessions/${sessionId}/messages?dialect=kortyx`);
    if (!history.ok) return;
    const { messages } = await history.json();
    const run = await fetch(`${url}/${sessionId}/stream`);
    // The run says its answer from the beginning.
    const known = run.status === 200 ? messages.slice(0, messages.findLastIndex(({ role }) => role === 'user') + 1) : messages;
    setMessages(known.map(({ id, role, content }) => ({ id, role, pieces: [{ type: 'text', key: 'text', value: content }] })));
    if (run.status === 200) await read(run);
  };

  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    void resume().catch((error) => setError(error.message)).then(() => setStatus('ready'));
  }, []);
  // endregion

  return {
    messages,
    status,
    error,
    send: (text) => ask(text),
    respond: ({ resumeToken, requestId }, { id, label }) => ask(label, { resume: { token: resumeToken, requestId, selected: [id] } }),
    abort: () => fetch(`${server}/v1/sessions/${sessionId}/stop`, { method: 'POST', keepalive: true }),
  };
}
// endregion

function Chat() {
  const { messages, status, error, send, respond, abort } = useChat(chatId);
  const busy = status !== 'ready';

  // region: parts
  const show = ({ type, key, name, value }, isLast) => {
    if (type === 'text') return <Text key={key}>{value}</Text>;
    if (type === 'object') return <DataCard key={key} type={name} data={value} />;
    if (type === 'tool') return <Tool key={key} name={name} done={value !== undefined}>{value}</Tool>;
    const { question, options } = value.input;
    const answer = (id) => respond(value, options.find((option) => option.id === id));
    return isLast && !busy && <Question key={key} question={question} options={options} onAnswer={answer} />;
  };
  // endregion

  return (
    <Shell title="Kortyx">
      <Conversation>
        {messages.length === 0 && !busy && <Suggestions onPick={send} />}
        {messages.map(({ id, role, pieces }, at) => (
          <Message key={id} role={role}>{pieces.map((piece) => show(piece, at === messages.length - 1))}</Message>
        ))}
        <Failure error={error} />
      </Conversation>
      <Composer busy={busy} onSend={send} onStop={abort} />
    </Shell>
  );
}

createRoot(document.querySelector('#root')).render(<Chat />);
