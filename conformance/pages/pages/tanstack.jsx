import { agent, server } from './settings.js';
import { mount } from './tanstack-chat.jsx';

mount(`${server}/v1/ag-ui/${agent}/chat`);
