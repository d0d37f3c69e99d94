// A page that counts how often its hook renders. `subject` is one of `hooks/`.

import * as subject from 'subject';
import { createRoot } from 'react-dom/client';
import { counts } from './react-counted.mjs';

const query = new URLSearchParams(location.search);
const where = { server: location.origin, agent: query.get('agent'), session: query.get('session') };

function Page() {
  const { send, isBusy, text, outputs } = subject.useSubject(where);
  counts.renders += 1;
  Object.assign(globalThis, { send });
  return <main data-busy={isBusy} data-length={text.length} data-outputs={outputs}>{text}</main>;
}

globalThis.counts = counts;
const Provider = subject.Provider ?? (({ children }) => children);
createRoot(document.body.appendChild(document.createElement('div'))).render(<Provider {...where}><Page /></Provider>);
