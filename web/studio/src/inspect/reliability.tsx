import type { NativeRecord } from '@headwater/client';
import { useEffect, useState } from 'preact/hooks';
import { Copy } from '../copy';
import { useSnapshot, type Conversation, type Delivery } from '../conversation';
import { count, plural } from '../format';
import { Icon } from '../icon';
import { followRecords } from './records';
import { restartServer, useServerProcess } from './server-process';

/** What the journal has and the page did not get, and what the page got more than once. */
export interface Comparison {
  /** Records that are no text, which are compared by their numbers. */
  compared: number;
  /** In how many pieces the text came: the fresh read has those that are ready together in one. */
  pieces: number;
  lost: number;
  repeated: number;
  characters: number;
  lostCharacters: number;
}

/**
 * Compares the delivered events with a fresh read of the run. Deltas are compared as text: those that are ready together
 * arrive as one.
 */
export function compare(delivered: readonly NativeRecord[], fresh: readonly NativeRecord[]): Comparison {
  const first = delivered[0]?.seq ?? Infinity;
  const expected = fresh.filter(({ seq }) => seq >= first);
  const seen = new Map<number, number>();
  for (const { seq } of delivered) seen.set(seq, (seen.get(seq) ?? 0) + 1);
  const repeated = [...seen.values()].reduce((sum, times) => sum + times - 1, 0);
  const lost = expected.filter((record) => deltaOf(record) === undefined && !seen.has(record.seq)).length;
  // A page that joined in the middle of a block has a part of its text.
  const text = (records: readonly NativeRecord[]) => {
    const blocks = new Map<string, number>();
    for (const record of records) {
      const delta = deltaOf(record);
      if (delta) blocks.set(delta.block, (blocks.get(delta.block) ?? 0) + delta.text.length);
    }
    return blocks;
  };
  const [mine, whole] = [text(delivered), text(expected)];
  let [characters, lostCharacters] = [0, 0];
  for (const [block, length] of whole) {
    characters += length;
    lostCharacters += Math.abs(length - (mine.get(block) ?? 0));
  }
  const isText = (record: NativeRecord) => deltaOf(record) !== undefined;
  return { compared: expected.filter((record) => !isText(record)).length, pieces: delivered.filter(isText).length, lost, repeated, characters, lostCharacters };
}

function deltaOf({ event, attempt = '', message = '' }: NativeRecord): { block: string; text: string } | undefined {
  if (event.type === 'block-delta') return { block: `${message} ${attempt} ${event.kind} ${event.id}`, text: event.delta };
  if (event.type === 'tool-input-delta') return { block: event.call, text: event.delta };
  return undefined;
}

export function Reliability({ conversation }: { conversation: Conversation | undefined }) {
  if (!conversation) return <p class="soft pad">Open a conversation: its connection can be cut here.</p>;
  return <Panel conversation={conversation} />;
}

function Panel({ conversation }: { conversation: Conversation }) {
  const { connection, status, run } = useSnapshot(conversation.chat);
  const [every, setEvery] = useState(false);
  const [result, setResult] = useState<{ run: string; comparison: Comparison }>();
  const isOpen = connection === 'open';
  const { delivery } = conversation;
  useEffect(() => {
    if (!every) return;
    const timer = setInterval(() => conversation.cut(), 700);
    return () => clearInterval(timer);
  }, [every, conversation]);
  // The comparison is made when there is nothing more to come.
  useEffect(() => {
    setResult(undefined);
    if (!delivery || connection === 'open' || connection === 'connecting' || connection === 'lost' || status === 'submitted') return;
    const controller = new AbortController();
    const fresh: NativeRecord[] = [];
    void followRecords(delivery.run, controller.signal, ({ records }, ended) => {
      for (const record of records) fresh.push(record);
      if (ended) setResult({ run: delivery.run, comparison: compare(delivery.records, fresh) });
    }).catch(() => {});
    return () => controller.abort();
  }, [delivery?.run, connection, status, run]);
  const twice = result?.comparison.repeated ?? repeatedSoFar(delivery);
  const lost = result?.comparison.lost;
  return (
    <div class="reliability">
      <p class={`verdict ${lost === undefined ? '' : lost + twice === 0 ? 'good' : 'bad'}`} role="status" aria-label="Verdict">
        <strong>{delivery ? `${lost === undefined ? '–' : count(lost)} lost, ${count(twice)} twice` : 'Nothing to count yet'}</strong>
        <span class="soft">
          {result
            ? `Compared with a fresh read of the run: ${plural(result.comparison.compared, 'record')} by number, and ${plural(result.comparison.characters, 'character')} of text, which came in ${plural(result.comparison.pieces, 'record')}.`
            : delivery ? 'Lost records are counted when the run has ended, by reading it a second time.'
            : 'Send a message to begin. The demo agent chat answers "long" for some seconds.'}
        </span>
      </p>
      <section>
        <h3>Cut the connection</h3>
        <p class="soft">While an answer comes, as a tunnel or a proxy would. The run continues at the server, and the page continues where it was.</p>
        <div class="buttons">
          <button type="button" class="first" disabled={!isOpen} onClick={() => conversation.cut()}><Icon name="cut" /> Cut the connection</button>
          <label><input type="checkbox" checked={every} onChange={(event) => setEvery(event.currentTarget.checked)} />again and again, every 0.7 s</label>
        </div>
      </section>
      <KillServer />
      <dl class="counters">
        <Counter name="connections" value={delivery?.connections ?? 0} />
        <Counter name="cuts" value={delivery?.cuts ?? 0} />
        <Counter name="records received" value={delivery?.records.length ?? 0} />
        <Counter name="records lost" value={lost} good={lost === 0} />
        <Counter name="records repeated" value={delivery && twice} good={twice === 0} />
        <Counter name="characters missing" value={result?.comparison.lostCharacters} good={result?.comparison.lostCharacters === 0} />
      </dl>
    </div>
  );
}

/** Kills the server of the demonstration and starts it again; elsewhere, the command to do so by hand. */
function KillServer() {
  const { process, restarts, isAway } = useServerProcess();
  const [problem, setProblem] = useState('');
  const restart = () => {
    setProblem('');
    restartServer().catch((error: Error) => setProblem(error.message));
  };
  const command = process ? `kill -9 ${process.pid}` : 'kill -9 $(pgrep headwater)';
  return (
    <section>
      <h3>Kill the server</h3>
      <p class="soft">While an answer comes. What it had sent is in the journal; the next process continues the run from there.</p>
      <div class="buttons">
        {process?.canRestart ? (
          <button type="button" class="first" disabled={isAway} onClick={restart}><Icon name="alert" /> Kill and restart the server</button>
        ) : (
          <><code class="command">{command}</code><Copy label="Copy the command" text={() => command}>Copy</Copy></>
        )}
        <span class="soft" role="status" aria-label="Server">
          {isAway ? 'The server is away.' : process ? `process ${process.pid}${restarts > 0 ? `, restarted ${restarts === 1 ? 'once' : plural(restarts, 'time')}` : ''}` : 'Then start it again.'}
        </span>
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </section>
  );
}

function Counter({ name, value, good }: { name: string; value: number | undefined; good?: boolean | undefined }) {
  return (
    <div class={good === undefined ? '' : value === undefined ? '' : good ? 'good' : 'bad'}>
      <dd>{value === undefined ? '–' : count(value)}</dd>
      <dt>{name}</dt>
    </div>
  );
}

const repeatedSoFar = (delivery: Delivery | undefined): number => (delivery ? delivery.records.length - new Set(delivery.records.map(({ seq }) => seq)).size : 0);
