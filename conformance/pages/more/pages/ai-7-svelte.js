// The conversation comes from the server, as in the SDK's guide on persistence; a new one is not known there yet.

import { mount } from 'svelte';
import { conversation, server } from '../../pages/settings.js';
import Chat from './Chat.svelte';

async function history() {
  const response = await fetch(`${server}/v1/sessions/${conversation}/messages?dialect=ai-sdk`);
  return response.ok ? (await response.json()).messages : [];
}

const initial = conversation ? await history() : [];
mount(Chat, { target: document.querySelector('#root'), props: { initial } });
