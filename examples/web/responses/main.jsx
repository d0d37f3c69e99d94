import OpenAI from 'openai';
import { useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Text } from '../shared/markdown.jsx';
import { agent, chatId, getLocation, server } from '../shared/settings.js';
import { Approval, Composer, Conversation, DataCard, Failure, Message, Question, Reasoning, Shell, Suggestions, Tool } from '../shared/ui.jsx';

// region: client
// A page sends its key to all who open it: give it one that may do no more than they may.
const client = new OpenAI({ baseURL: `${server}/v1`, apiKey: 'none', dangerouslyAllowBrowser: true });

const tools = [
  {
    type: 'function',
    name: 'get_location',
    description: 'Where the person is',
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
    strict: true,
  },
];
// endregion

// region: events
/** A turn is an input and the response to it: `{ input, id, output, status, error }`. Here after one more event. */
function apply(turn, event) {
  const item = (item) => ({ ...turn, output: Object.assign([...turn.output], { [event.output_index]: item }) });
  switch (event.type) {
    case 'response.created':
      return { ...turn, id: event.response.id, status: event.response.status };
    case 'response.output_item.added':
    case 'response.output_item.done':
      return item(event.item);
    case 'response.output_text.delta': {
      const message = turn.output[event.output_index];
      return item({ ...message, text: (message.text ?? '') + event.delta });
    }
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      return ended(turn, event.response);
    default:
      return turn;
  }
}

const ended = (turn, { output, status, error }) => ({ ...turn, output, status, error });
const isOpen = ({ status }) => status === 'queued' || status === 'in_progress';
// endregion

// region: hook
/** A conversation of responses, each of which continues the one before. */
function useResponses() {
  const [turns, setTurns] = useState([]);
  const [busy, setBusy] = useState(true);
  const [error, setError] = useState(null);
  const latest = useRef([]);

  const change = (at, turn) => {
    latest.current = Object.assign([...latest.current], { [at]: turn });
    setTurns(latest.current);
    // The responses are with the server; the page remembers which they are.
    sessionStorage.setItem(chatId, JSON.stringify(latest.current.map(({ input, id }) => ({ input, id }))));
  };

  const read = async (at, stream) => {
    for await (const event of stream) {
      change(at, { ...apply(latest.current[at], event), cursor: event.sequence_number });
    }
    const turn = latest.current[at];
    if (!isOpen(turn)) return callTools(turn);
    // The connection was cut: the rest comes after the last event.
    await read(at, await client.responses.retrieve(turn.id, { stream: true, starting_after: turn.cursor }));
  };

  const ask = async (input) => {
    setBusy(true);
    setError(null);
    const at = latest.current.length;
    const previous_response_id = latest.current.at(-1)?.id;
    change(at, { input, output: [], status: 'queued' });
    try {
      // In the background, so that it continues when the page is closed.
      await read(at, await client.responses.create({ model: agent, input, tools, previous_response_id, background: true, stream: true }));
    } catch (error) {
      setError(error);
    }
    setBusy(false);
  };

  // region: tools
  const callTools = async ({ output }) => {
    const calls = output.filter(({ type, name }) => type === 'function_call' && name === 'get_location');
    const location = async ({ call_id }) => ({ type: 'function_call_output', call_id, output: JSON.stringify(await getLocation()) });
    if (calls.length > 0) await ask(await Promise.all(calls.map(location)));
  };
  // endregion

  // region: resume
  /** What was there before a reload. The last response may still be written. */
  const resume = async () => {
    const kept = JSON.parse(sessionStorage.getItem(chatId) ?? '[]').filter(({ id }) => id);
    for (const [at, { input, id }] of kept.entries()) {
      const response = await client.responses.retrieve(id);
      if (!isOpen(response)) {
        change(at, ended({ input, id }, response));
        continue;
      }
      change(at, { input, id, output: [], status: response.status });
      await read(at, await client.responses.retrieve(id, { stream: true }));
    }
  };
  // endregion

  useEffect(() => {
    void resume().catch(setError).then(() => setBusy(false));
  }, []);

  const stop = () => client.responses.cancel(latest.current.at(-1).id);
  return { turns, busy, error, ask, stop };
}
// endregion

function Chat() {
  const { turns, busy, error, ask, stop } = useResponses();
  const send = (content) => ask([{ role: 'user', content }]);
  const inputs = turns.flatMap(({ input }) => input);

  // region: items
  const show = (item) => {
    if (item.type === 'message') return <Text key={item.id}>{item.text ?? item.content.map(({ text }) => text).join('')}</Text>;
    if (item.type === 'reasoning') return <Reasoning key={item.id}>{item.summary.map(({ text }) => text).join('')}</Reasoning>;
    if (item.type === 'headwater:data') return <DataCard key={item.id} type={item.name} data={item.data} />;
    if (item.type === 'mcp_call') return <Tool key={item.id} name={item.name} done={item.status !== 'in_progress'}>{item.error ?? item.output}</Tool>;
    if (item.type === 'mcp_approval_request') return showApproval(item);
    if (item.type === 'function_call') return showCall(item);
    return null;
  };

  const showApproval = ({ id, name, arguments: input }) => {
    const decide = (approve) => ask([{ type: 'mcp_approval_response', approval_request_id: id, approve }]);
    const isOpen = !inputs.some(({ approval_request_id }) => approval_request_id === id);
    return isOpen && <Approval key={id} tool={name} input={JSON.parse(input)} onDecide={decide} />;
  };

  const showCall = ({ call_id, name, arguments: input }) => {
    const given = inputs.find((item) => item.type === 'function_call_output' && item.call_id === call_id)?.output;
    if (name !== 'ask_user') return <Tool key={call_id} name={name} done={given !== undefined}>{given}</Tool>;
    const answer = (output) => ask([{ type: 'function_call_output', call_id, output }]);
    return <Question key={call_id} {...JSON.parse(input)} answer={given} onAnswer={answer} />;
  };
  // endregion

  return (
    <Shell title="Responses API">
      <Conversation>
        {turns.length === 0 && !busy && <Suggestions onPick={send} />}
        {turns.map(({ input, output, error }, at) => [
          input.filter(({ role }) => role === 'user').map(({ content }) => <Message key={`in ${at}`} role="user"><Text>{content}</Text></Message>),
          <Message key={`out ${at}`} role="assistant">
            {output.map(show)}
            <Failure error={error} />
          </Message>,
        ])}
        <Failure error={error} />
      </Conversation>
      <Composer busy={busy} onSend={send} onStop={stop} />
    </Shell>
  );
}

createRoot(document.querySelector('#root')).render(<Chat />);
