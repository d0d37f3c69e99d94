// A list of threads of CopilotKit beside its chat, as the documentation of `useThreads` has it.

import { CopilotChat, CopilotKitProvider, useThreads } from '@copilotkit/react-core/v2';
import '@copilotkit/react-core/v2/styles.css';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { agent as agentId, conversation, server } from '../../pages/settings.js';

const query = new URLSearchParams(location.search);

function Threads() {
  const [includeArchived, setIncludeArchived] = useState(false);
  const list = useThreads({ agentId, includeArchived });
  return (
    <nav>
      {list.error && <p className="error">{list.error.message}</p>}
      <ul className="threads">
        {list.threads.map(({ id, name, archived }) => (
          <li key={id} data-archived={archived}>
            <span className="name">{name ?? 'Untitled'}</span>
            <button onClick={() => list.renameThread(id, 'The blue heron')}>Rename</button>
            <button onClick={() => list.archiveThread(id)}>Archive</button>
            <button onClick={() => list.unarchiveThread(id)}>Restore</button>
            <button onClick={() => list.deleteThread(id)}>Delete</button>
          </li>
        ))}
      </ul>
      <button onClick={() => setIncludeArchived(!includeArchived)}>Archived too</button>
    </nav>
  );
}

createRoot(document.querySelector('#root')).render(
  <CopilotKitProvider runtimeUrl={`${server}/v1/ag-ui`} useSingleEndpoint={query.has('single')} showDevConsole={false}>
    <Threads />
    <CopilotChat agentId={agentId} threadId={conversation} />
  </CopilotKitProvider>,
);
