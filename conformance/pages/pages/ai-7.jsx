import { useChat } from '@ai-sdk/react';
import * as sdk from 'ai';
import { mount } from './ai-sdk.jsx';
import { agent, server } from './settings.js';

// The profile of this version: a failed attempt is removed.
mount({ useChat, sdk, api: `${server}/v1/ai-sdk/${agent}/chat?profile=ai-7` });
