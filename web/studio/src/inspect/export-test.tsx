import { useState } from 'preact/hooks';
import { openResponse } from '../api';
import { Icon } from '../icon';
import { tar } from '../tar';
import { isComment } from './frames';

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

/** Downloads a run as a test: its events, and the bytes that clients of each dialect get. */
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
      <button type="button" disabled={!isComplete || state === 'working'} title="The events of the run, and the bytes that clients of each dialect get" onClick={() => void download()}>
        <Icon name="file" /> Export as test
      </button>
      {state === 'done' && <p class="soft" role="status">Run it: <code>tar xf {run}.tar && headwater replay --golden golden</code></p>}
      {state === 'failed' && <p class="problem" role="alert">The run could not be read.</p>}
    </div>
  );
}

async function archiveOf(run: string): Promise<Blob> {
  const events = async (query: string) => (await openResponse(`/v1/runs/${encodeURIComponent(run)}/events?${query}`)).text();
  const records = (await events('framing=ndjson'))
    .split('\n')
    .filter((row) => row.startsWith('{'))
    // The cursor and the version are the stream's, not the record's.
    .map((row) => JSON.stringify({ ...JSON.parse(row), cursor: undefined, version: undefined }));
  const folder = `golden/${run}`;
  const files = [{ name: `${folder}/events.ndjson`, text: `${records.join('\n')}\n` }];
  const streams = await Promise.all(
    STREAMS.map(async ([dialect, profile]) => {
      const frames = (await events(`dialect=${dialect}&profile=${encodeURIComponent(profile)}`)).split('\n\n').filter((frame) => frame && !isComment(frame));
      return { name: `${folder}/${dialect}.${profile}.sse`, text: frames.map((frame) => `${frame.replace(/^id: .*\n/m, '')}\n\n`).join('') };
    }),
  );
  return tar([...files, ...streams]);
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
