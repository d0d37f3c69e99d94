import { applyPatch, RunReducer, type Message, type NativeRecord, type Part, type RunState } from '@headwater/client';
import { useMemo, useState } from 'preact/hooks';
import { forkCheckpoint } from '../api';
import { Data, FileCard, QuestionLine, Sources, StructuredCard, Tool } from '../chat/parts';
import type { Conversation } from '../conversation';
import { line, plural } from '../format';
import { Icon } from '../icon';
import { Json } from '../json';
import { Markdown } from '../markdown';
import { go } from '../route';
import { useCheckpoint, type FoundCheckpoint } from './checkpoint';
import { useConversationBefore } from './conversation-before';
import { Moment } from './moment';

/** The state that the records up to a place build. */
export function stateAt(records: readonly NativeRecord[], end: number): { state: RunState; problems: string[] } {
  const reducer = new RunReducer([], { applyPatch });
  const problems: string[] = [];
  for (let at = 0; at < end; at += 1) {
    const record = records[at] as NativeRecord;
    try {
      reducer.apply(record);
    } catch (error) {
      problems.push(`record ${record.seq}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { state: reducer.snapshot(), problems };
}

interface Props {
  run: string;
  conversation: Conversation | undefined;
  records: readonly NativeRecord[];
  seq: number | undefined;
  onSeq: (seq: number | undefined) => void;
}

export function StateView({ run, conversation, records, seq, onSeq }: Props) {
  const found = seq === undefined ? -1 : records.findLastIndex((record) => record.seq <= seq);
  const at = found < 0 ? records.length - 1 : found;
  const checkpoint = useCheckpoint(records, at, run, conversation?.session);
  const before = useConversationBefore(run, conversation?.chat, checkpoint?.details?.messages);
  const { state, problems } = useMemo(() => stateAt(records, at + 1), [records, at]);
  // A record may have repeated the conversation.
  const earlier = before.filter(({ id }) => !state.messages.some((message) => message.id === id));
  const said = earlier.at(-1)?.role === 'user' ? earlier.slice(-1) : [];
  const record = records[at];
  if (!record) return null;
  return (
    <div class="state-view">
      <Moment records={records} at={at} onMove={(to) => onSeq(to >= records.length - 1 ? undefined : records[Math.max(0, to)]?.seq)} />
      <Fork checkpoint={checkpoint} status={state.run.status} />
      {problems.map((text) => <p key={text} class="problem">{text}</p>)}
      <section>
        <h3>Messages</h3>
        {earlier.length + state.messages.length === 0 && <p class="soft">None yet</p>}
        <Earlier messages={earlier.slice(0, earlier.length - said.length)} />
        {[...said, ...state.messages].map((message) => <Snapshot key={message.id} message={message} />)}
      </section>
      <WorkflowState checkpoint={checkpoint} />
      {Object.keys(state.structured).length > 0 && (
        <section><h3>Structured objects</h3><Json value={Object.fromEntries(Object.values(state.structured).map((item) => [`${item.dataType} (${item.status})`, item.data]))} open={3} /></section>
      )}
      <section><h3>Shared state</h3>{state.shared === undefined ? <p class="soft">None</p> : <Json value={state.shared} open={3} />}</section>
      <section><h3>Run</h3><Json value={state.run} open={1} /></section>
      <section><h3>Messages as JSON</h3><Json value={[...earlier, ...state.messages]} open={0} /></section>
    </div>
  );
}

/** The turns before the run, drawn when a person asks for them. */
function Earlier({ messages }: { messages: readonly Message[] }) {
  const [isOpen, setOpen] = useState(false);
  if (messages.length === 0) return null;
  return (
    <>
      <button type="button" class="link earlier" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Hide' : 'Show'} {plural(messages.length, 'message')} of the turns before
      </button>
      {isOpen && messages.map((message) => <Snapshot key={message.id} message={message} />)}
    </>
  );
}

const ROLES: Partial<Record<Message['role'], string>> = { user: 'You', assistant: 'Agent' };

function Snapshot({ message }: { message: Message }) {
  const sources = message.parts.filter(isSource);
  return (
    <article class={`snapshot ${message.role}`}>
      <p class="soft">{ROLES[message.role] ?? message.role} · {message.status}</p>
      {message.parts.map((part, index) => <SnapshotPart key={index} part={part} />)}
      {sources.length > 0 && <Sources parts={sources} />}
      {message.parts.length === 0 && <p class="soft">empty</p>}
    </article>
  );
}

type SourcePart = Extract<Part, { type: 'source-url' | 'source-document' }>;
const isSource = (part: Part): part is SourcePart => part.type === 'source-url' || part.type === 'source-document';

function SnapshotPart({ part }: { part: Part }) {
  switch (part.type) {
    case 'text':
      return <Markdown text={part.text} />;
    case 'reasoning':
      return <p class="soft thinking">{line(part.text, 400)}</p>;
    case 'tool':
      return <Tool part={part} facts={undefined} isLive />;
    case 'structured':
      return <StructuredCard part={part} isLive={false} />;
    case 'file':
      return <FileCard part={part} />;
    case 'question':
      return <QuestionLine part={part} />;
    case 'data':
      return <Data name={part.name} value={part.data} />;
    case 'other':
      return <Json value={part.value} open={0} name="other" />;
    default:
      return null;
  }
}

/** Continues in a new session from the newest checkpoint at the cursor. */
function Fork({ checkpoint, status }: { checkpoint: FoundCheckpoint | undefined; status: string }) {
  const [problem, setProblem] = useState('');
  const fork = ({ session, id }: FoundCheckpoint) =>
    void forkCheckpoint(session, id).then(
      (forked) => go({ view: 'session', session: forked.id }),
      (error: Error) => setProblem(error.message),
    );
  return (
    <>
      <div class="fork">
        <button type="button" disabled={!checkpoint} title={checkpoint ? 'A new session that continues from the newest checkpoint up to the cursor' : 'There is no checkpoint up to the cursor'} onClick={() => checkpoint && fork(checkpoint)}>
          <Icon name="fork" /> Fork from here
        </button>
        <span class="soft">{checkpoint ? placeOf(checkpoint) : 'no checkpoint up to here'}</span>
        <span class={`status ${status}`}>{status}</span>
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </>
  );
}

const placeOf = ({ turn, isEarlier }: FoundCheckpoint) => `checkpoint of turn ${turn}${isEarlier ? ', before this run' : ''}`;

/** What the nodes keep for one another. Records do not have it, so it is that of the checkpoint. */
function WorkflowState({ checkpoint }: { checkpoint: FoundCheckpoint | undefined }) {
  const state = checkpoint?.details?.workflowState ?? {};
  return (
    <section>
      <h3>Workflow state {checkpoint && <span class="soft">at the {placeOf(checkpoint)}</span>}</h3>
      {Object.keys(state).length > 0 && <Json value={state} open={2} />}
      {!checkpoint && <p class="soft">None: it is part of checkpoints, and the run has none so far</p>}
      {checkpoint?.details && Object.keys(state).length === 0 && <p class="soft">None, or the agent does not show it (<code>visibility.state</code>)</p>}
    </section>
  );
}
