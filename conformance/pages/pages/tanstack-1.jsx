// The newest client that npm has, on the wire of 1.0.

import { agent, server } from './settings.js';
import { mount } from './tanstack-chat.jsx';

mount(`${server}/v1/ag-ui/${agent}/chat?profile=tanstack-1`);
