import { useState } from 'preact/hooks';
import { line } from './format';

/** A JSON value as a tree that opens and closes. Strings are text, whatever they contain. */
export function Json({ value, open = 2, name }: { value: unknown; open?: number; name?: string }) {
  return (
    <div class="json">
      <Node value={value} open={open} name={name} />
    </div>
  );
}

const PAGE = 100;

function Node({ value, open, name }: { value: unknown; open: number; name?: string | undefined }) {
  const isTree = typeof value === 'object' && value !== null;
  const [isOpen, setOpen] = useState(open > 0);
  const [shown, setShown] = useState(PAGE);
  const label = name !== undefined && <span class="key">{name}</span>;
  if (!isTree) {
    return (
      <div class="leaf">
        {label}
        <span class={value === null ? 'null' : typeof value}>{typeof value === 'string' ? JSON.stringify(value) : String(value)}</span>
      </div>
    );
  }
  const entries = Object.entries(value);
  const [begin, end] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0) return <div class="leaf">{label}<span class="null">{begin + end}</span></div>;
  return (
    <div class="tree">
      <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {label}
        {isOpen ? <span class="null">{begin}</span> : <span class="null">{line(value, 90)}</span>}
      </button>
      {isOpen && (
        <div class="children">
          {entries.slice(0, shown).map(([key, child]) => <Node key={key} name={key} value={child} open={open - 1} />)}
          {entries.length > shown && (
            <button type="button" class="link" onClick={() => setShown(shown + 10 * PAGE)}>{entries.length - shown} more</button>
          )}
        </div>
      )}
      {isOpen && <span class="null">{end}</span>}
    </div>
  );
}
