// A server of its own for each file of tests.

import { after } from 'node:test';
import { Server } from '../clients/lib/server.mjs';

/** Starts a server, which ends with the tests; `base` is the URL that a client is configured with. */
export async function serve(options = {}) {
  const server = await Server.start(process.env.HEADWATER_BINARY, { keepsPort: true, ...options });
  after(() => server.stop());
  return { server, base: `http://127.0.0.1:${await server.port}/v1` };
}

/** Waits until a response is no longer in progress. */
export async function settled(client, id) {
  for (;;) {
    const response = await client.responses.retrieve(id);
    if (response.status !== 'queued' && response.status !== 'in_progress') return response;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
