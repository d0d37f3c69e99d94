import { useEffect, useRef, useState } from 'preact/hooks';
import { HeadwaterError } from '@headwater/client';
import { hasKey, openResponse } from '../api';
import { Copy } from '../copy';
import { plural } from '../format';

const DIALECTS = [
  ['native', 'Headwater'],
  ['ai-sdk', 'AI SDK'],
  ['ag-ui', 'AG-UI, CopilotKit, TanStack AI'],
  ['mui', 'MUI X Chat'],
  ['agents', 'agents'],
  ['kortyx', 'Kortyx'],
  ['tanstack', 'TanStack AI before 0.3'],
  ['responses', 'OpenAI Responses'],
] as const;

const STORE = 'headwater studio dialects';

/**
 * The same run as the frames of several dialects, side by side. They are read anew in each `phase`: a stream ends where the
 * run waits.
 */
export function Wire({ run, phase }: { run: string; phase: number }) {
  const [shown, setShown] = useState<string[]>(() => stored());
  const toggle = (name: string) =>
    setShown((held) => {
      const now = held.includes(name) ? held.filter((other) => other !== name) : DIALECTS.map(([known]) => known as string).filter((known) => known === name || held.includes(known));
      try {
        localStorage.setItem(STORE, now.join());
      } catch {
        // Then it lasts as long as the page.
      }
      return now;
    });
  return (
    <div class="wire">
      <div class="dialects" role="group" aria-label="Dialects">
        {DIALECTS.map(([name, about]) => (
          <button key={name} type="button" class={shown.includes(name) ? 'chip on' : 'chip'} aria-pressed={shown.includes(name)} title={about} onClick={() => toggle(name)}>{name}</button>
        ))}
      </div>
      {shown.length === 0 && <p class="soft pad">Pick a dialect.</p>}
      <div class="columns">
        {shown.map((dialect) => <Column key={`${dialect} ${run} ${phase}`} run={run} dialect={dialect} />)}
      </div>
    </div>
  );
}

const MAX_FRAMES = 3000;

interface Stream {
  frames: string[];
  bytes: number;
  state: 'open' | 'ended' | HeadwaterError;
}

function Column({ run, dialect }: { run: string; dialect: string }) {
  const [stream, setStream] = useState<Stream>({ frames: [], bytes: 0, state: 'open' });
  const path = `/v1/runs/${encodeURIComponent(run)}/events${dialect === 'native' ? '' : `?dialect=${dialect}`}`;
  useEffect(() => {
    const controller = new AbortController();
    const take = (frames: string[], bytes: number, state: Stream['state']) =>
      setStream((held) => ({ frames: held.frames.concat(frames).slice(0, MAX_FRAMES), bytes: held.bytes + bytes, state }));
    void read(path, controller.signal, take);
    return () => controller.abort();
  }, [path]);
  const { frames, bytes, state } = stream;
  const log = useRef<HTMLOListElement>(null);
  return (
    <section class="dialect" aria-label={dialect}>
      <header>
        <h3>{dialect}</h3>
        <span class="soft">{plural(frames.length, 'frame')} · {(bytes / 1024).toFixed(1)} KB{state === 'open' && ' · live'}</span>
        <Copy label={`Copy ${dialect} as curl`} text={() => curl(path)}>curl</Copy>
      </header>
      {state instanceof HeadwaterError && <p class="problem">{state.message}</p>}
      <ol ref={log} tabIndex={0} aria-label={`Frames of ${dialect}`}>
        {frames.map((frame, at) => <Frame key={at} text={frame} />)}
      </ol>
    </section>
  );
}

function Frame({ text }: { text: string }) {
  return (
    <li>
      {text.split('\n').map((row, at) => {
        const colon = row.indexOf(':');
        const field = colon > 0 && colon < 8 && !row.startsWith('{') ? row.slice(0, colon) : '';
        return field ? (
          <span key={at} class={`row ${field}`}><span class="field">{field}:</span>{field === 'data' ? <Payload text={row.slice(colon + 1)} /> : row.slice(colon + 1)}</span>
        ) : (
          <span key={at} class={row.startsWith(':') ? 'row comment' : 'row'}><Payload text={row} /></span>
        );
      })}
    </li>
  );
}

/** JSON with the type of the event in colour. */
function Payload({ text }: { text: string }) {
  const parts = text.split(/("type":"[^"]*")/);
  return <>{parts.map((part, at) => (at % 2 === 1 ? <b key={at}>{part}</b> : part))}</>;
}

/** Reads a stream as text, frame by frame, until it ends. */
async function read(path: string, signal: AbortSignal, take: (frames: string[], bytes: number, state: Stream['state']) => void): Promise<void> {
  try {
    const response = await openResponse(path, { signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    for (let rest = ''; ; ) {
      const { value, done } = await reader.read();
      const frames = (rest + decoder.decode(value, { stream: !done })).split(/\n\n/);
      rest = frames.pop() ?? '';
      if (done && rest.trim()) frames.push(rest);
      if (frames.length > 0 || done) take(frames, value?.length ?? 0, done ? 'ended' : 'open');
      if (done) return;
    }
  } catch (error) {
    if (signal.aborted) return;
    take([], 0, error instanceof HeadwaterError ? error : new HeadwaterError('network', 'The connection was lost.'));
  }
}

const curl = (path: string): string => `curl -N '${location.origin}${path}'${hasKey() ? ' -H "Authorization: Bearer $HEADWATER_KEY"' : ''}`;

function stored(): string[] {
  try {
    const kept = localStorage.getItem(STORE);
    if (kept !== null) return kept.split(',').filter((name) => DIALECTS.some(([known]) => known === name));
  } catch {
    // The usual ones.
  }
  return innerWidth < 700 ? ['ai-sdk'] : ['native', 'ai-sdk', 'ag-ui'];
}
