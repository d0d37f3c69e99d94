import { useChat } from '@ai-sdk/react-v2';
import * as sdk from 'ai-v5';
import { mount } from '../../pages/ai-sdk.jsx';
import { agent, server } from '../../pages/settings.js';

mount({ useChat, sdk, api: `${server}/v1/ai-sdk/${agent}/chat` });
