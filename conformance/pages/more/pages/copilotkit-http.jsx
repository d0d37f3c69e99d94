import { HttpAgent } from '@copilotkit/react-core/v2';
import { agent, server } from '../../pages/settings.js';
import { mount } from './copilotkit-chat.jsx';

mount({ selfManagedAgents: { [agent]: new HttpAgent({ url: `${server}/v1/ag-ui/${agent}/chat` }) } });
