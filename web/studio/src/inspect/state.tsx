import { applyPatch, RunReducer, type NativeRecord, type RunState } from '@headwater/client';
import { useMemo, useState } from 'preact/hooks';
import { forkCheckpoint } from '../api';
import { textOf } from '../chat/message';
import { StructuredCard, Tool } from '../chat/parts';
import { line } from '../format';
import { Icon } from '../icon';
import { Json } from '../json';
import { Markdown } from '../markdown';
import { go } from '../route';
import { useCheckpoint, type FoundCheckpoint } from './checkpoint';
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
  session: string | undefined;
  records: readonly NativeRecord[];
  seq: number | undefined;
  onSeq: (seq: number | undefined) => void;
}

export function StateView({ run, session, records, seq, onSeq }: Props) {
  const found = seq === undefined ? -1 : records.findLastIndex((record) => record.seq <= seq);
  const at = found < 0 ? records.length - 1 : found;
  const { state, problems } = useMemo(() => stateAt(records, at + 1), [records, at]);
  const checkpoint = useCheckpoint(records, at, run, session);
  const record = records[at];
  if (!record) return null;
  return (
    <div class="state-view">
      <Moment records={records} at={at} onMove={(to) => onSeq(to >= records.length - 1 ? undefined : records[Math.max(0, to)]?.seq)} />
      <Fork checkpoint={checkpoint} status={state.run.status} />
      {problems.map((text) => <p key={text} class="problem">{text}</p>)}
      <section>
        <h3>Messages</h3>
        {state.messages.length === 0 && <p class="soft">None yet</p>}
        {state.messages.map((message) => (
          <article key={message.id} class="snapshot">
            <p class="soft">{message.role} · {message.status}</p>
            {message.parts.map((part, index) => {
              if (part.type === 'text') return <Markdown key={index} text={part.text} />;
              if (part.type === 'reasoning') return <p key={index} class="soft thinking">{line(part.text, 400)}</p>;
              if (part.type === 'tool') return <Tool key={index} part={part} facts={undefined} isLive />;
              if (part.type === 'structured') return <StructuredCard key={index} part={part} isLive={false} />;
              return null;
            })}
            {!textOf(message) && message.parts.length === 0 && <p class="soft">empty</p>}
          </article>
        ))}
      </section>
      <WorkflowState checkpoint={checkpoint} />
      {Object.keys(state.structured).length > 0 && (
        <section><h3>Structured objects</h3><Json value={Object.fromEntries(Object.values(state.structured).map((item) => [`${item.dataType} (${item.status})`, item.data]))} open={3} /></section>
      )}
      <section><h3>Shared state</h3>{state.shared === undefined ? <p class="soft">None</p> : <Json value={state.shared} open={3} />}</section>
      <section><h3>Run</h3><Json value={state.run} open={1} /></section>
      <section><h3>Messages as JSON</h3><Json value={state.messages} open={0} /></section>
    </div>
  );
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
