import { useChat } from '@ai-sdk/react-v3';
import * as sdk from 'ai-v6';
import { mount } from './ai-sdk.jsx';
import { agent, server } from './settings.js';

mount({ useChat, sdk, api: `${server}/v1/ai-sdk/${agent}/chat` });
