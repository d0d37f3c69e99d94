import { memo } from 'preact/compat';
import { changesOf } from './json-changes';

interface Props {
  text: string;
  /** The frame before it: what differs is marked. */
  before: string | undefined;
}

/** A frame as it is on the wire. */
export const RawFrame = memo(function RawFrame({ text, before }: Props) {
  const old = before === undefined ? undefined : rowsOf(before);
  return (
    <>
      {rowsOf(text).map(({ field, value }, at) => {
        const known = old && (old.find((row) => row.field === field)?.value ?? '');
        if (field === 'data' || field === '') {
          return <span key={at} class={field ? 'row data' : 'row'}>{field && <span class="field">data:</span>}<Payload text={value} before={known} /></span>;
        }
        if (field === ':') return <span key={at} class="row comment">:{value}</span>;
        const isChanged = field === 'event' && known !== undefined && known !== value;
        return <span key={at} class={`row ${field}`}><span class="field">{field}: </span>{isChanged ? <mark>{value.trimStart()}</mark> : value.trimStart()}</span>;
      })}
    </>
  );
});

function Payload({ text, before }: { text: string; before: string | undefined }) {
  return (
    <>
      {changesOf(text, before).map(({ text: piece, isChanged, isType }, at) => {
        const shown = isType ? <b key={at}>{piece}</b> : piece;
        return isChanged ? <mark key={at}>{shown}</mark> : shown;
      })}
    </>
  );
}

function rowsOf(frame: string): { field: string; value: string }[] {
  return frame.split('\n').map((row) => {
    const colon = row.indexOf(':');
    // A line of NDJSON is all data.
    if (colon < 0 || colon > 7 || row.startsWith('{')) return { field: '', value: row };
    return { field: row.slice(0, colon) || ':', value: row.slice(colon + 1) };
  });
}
