import { useState } from 'preact/hooks';
import { Icon } from './icon';

export function Copy({ text, label, children }: { text: () => string; label: string; children?: string }) {
  const [state, setState] = useState<'' | 'done' | 'failed'>('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setState('done');
    } catch {
      // A page that is not served safely has no clipboard.
      setState('failed');
    }
    setTimeout(() => setState(''), 1500);
  };
  return (
    <button type="button" class="quiet" title={label} aria-label={label} onClick={() => void copy()}>
      <Icon name={state === 'done' ? 'check' : 'copy'} />
      {children && <span>{state === 'done' ? 'Copied' : state === 'failed' ? 'Cannot copy' : children}</span>}
    </button>
  );
}
