import type { Message, NativeRecord } from '@headwater/client';
import { useState } from 'preact/hooks';
import { listMessages, openResponse, readRun } from '../api';
import { Icon } from '../icon';
import { tar } from '../tar';
import { messagesUpTo } from './conversation-before';
import { isComment } from './frames';
import { fileName, scriptsOf } from './script-of';

/**
 * Files of `headwater replay --golden`, each with the dialect and the profile that it is written in. It writes the others itself. `mui`
 * counts its frames and so gets every delta alone, where the events of the others are joined.
 */
const STREAMS = [
  ['native', 'default'],
  ['ai-sdk', 'ai-7'],
  ['ag-ui', '1.0'],
  ['agents', 'default'],
  ['kortyx', 'default'],
  ['tanstack', 'default'],
] as const;

/** Downloads a run as a test: its events, what its models said, and the bytes that clients of each dialect get. */
export function ExportTest({ run, isComplete }: { run: string; isComplete: boolean }) {
  const [state, setState] = useState<'' | 'working' | 'done' | 'failed'>('');
  const download = async () => {
    setState('working');
    try {
      save(await archiveOf(run), `${run}.tar`);
      setState('done');
    } catch {
      setState('failed');
    }
  };
  return (
    <div class="export">
      <button type="button" disabled={!isComplete || state === 'working'} title="The events of the run, scripts that say what its models said, and the bytes that clients of each dialect get" onClick={() => void download()}>
        <Icon name="file" /> Export as test
      </button>
      {state === 'done' && <p class="soft" role="status">Run it: <code>tar xf {run}.tar && headwater replay --golden golden</code></p>}
      {state === 'failed' && <p class="problem" role="alert">The run could not be read.</p>}
    </div>
  );
}

async function archiveOf(run: string): Promise<Blob> {
  const events = async (query: string) => (await openResponse(`/v1/runs/${encodeURIComponent(run)}/events?${query}`)).text();
  const rows = (await events('framing=ndjson'))
    .split('\n')
    .filter((row) => row.startsWith('{'))
    // The cursor and the version are the stream's, not the record's.
    .map((row) => JSON.stringify({ ...JSON.parse(row), cursor: undefined, version: undefined }));
  const records = rows.map((row) => JSON.parse(row) as NativeRecord);
  const folder = `golden/${run}`;
  const files = [{ name: `${folder}/events.ndjson`, text: `${rows.join('\n')}\n` }];
  // To take text back, AG-UI repeats the conversation before the run, which its events do not have.
  if (records.some(({ event }) => event.type === 'attempt-retracted')) {
    const before = await messagesBefore(run);
    if (before.length > 0) files.push({ name: `${folder}/conversation.json`, text: JSON.stringify(before) });
  }
  const streams = await Promise.all(
    STREAMS.map(async ([dialect, profile]) => {
      const frames = (await events(`dialect=${dialect}&profile=${encodeURIComponent(profile)}`)).split('\n\n').filter((frame) => frame && !isComment(frame));
      return { name: `${folder}/${dialect}.${profile}.sse`, text: frames.map((frame) => `${frame.replace(/^id: .*\n/m, '')}\n\n`).join('') };
    }),
  );
  // JSON is YAML.
  const scripts = [...scriptsOf(records)].map(([model, script]) => ({
    name: `${folder}/scripts/${fileName(model)}.yaml`,
    text: `${JSON.stringify(script, null, 2)}\n`,
  }));
  return tar([...files, ...scripts, ...streams]);
}

/** The messages before the answer of a run, as far as its conversation still has it. */
async function messagesBefore(run: string): Promise<readonly Message[]> {
  const { session } = (await readRun(run)).run;
  if (!session) return [];
  return messagesUpTo(await listMessages(session), run) ?? [];
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
