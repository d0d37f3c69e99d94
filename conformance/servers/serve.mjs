/**
 * Serves all vendors on one port of the loopback, and prints it: `node serve.mjs`.
 *
 * `?cut=N` destroys the connection after N bytes of the body, once for each chat, so that a client has to reconnect.
 */
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import * as agUi from './ag-ui.mjs';
import * as aiSdk from './ai-sdk.mjs';
import * as tanstack from './tanstack.mjs';

process.env.COPILOTKIT_TELEMETRY_DISABLED = 'true';

// It is large, and not everywhere: its routes are 404 without it.
const copilotkit = await import('./copilotkit.mjs').catch((error) => {
  console.error(`without CopilotKit: ${error.message}`);
});

async function respond(request, url) {
  const { pathname } = url;
  if (request.method === 'GET' && pathname.startsWith('/ai-sdk/')) return aiSdk.resume(decodeURIComponent(pathname.split('/')[2]));
  if (pathname === '/ai-sdk') return aiSdk.chat(request);
  if (pathname === '/tanstack') return tanstack.chat(request);
  if (pathname === '/ag-ui') return agUi.chat(request);
  if (pathname.startsWith('/copilotkit') && copilotkit) return copilotkit.fetch(request);
  return new Response('not found', { status: 404 });
}

const server = createServer(async (incoming, outgoing) => {
  const url = new URL(incoming.url, 'http://127.0.0.1');
  const body = incoming.method === 'POST' ? Readable.toWeb(incoming) : undefined;
  const request = new Request(url, { method: incoming.method, headers: incoming.headers, ...(body ? { body, duplex: 'half' } : {}) });
  const response = await respond(request, url).catch((error) => {
    console.error(error);
    return error instanceof Response ? error : new Response(String(error), { status: 500 });
  });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  let left = incoming.method === 'POST' ? Number(url.searchParams.get('cut') ?? Infinity) : Infinity;
  for await (const piece of response.body ?? []) {
    outgoing.write(piece);
    left -= piece.length;
    if (left <= 0) {
      // What was written so far arrives first.
      await new Promise((resolve) => setTimeout(resolve, 5));
      outgoing.destroy();
      return;
    }
  }
  outgoing.end();
});

server.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`));
// The process that started it closes this pipe when it ends.
process.stdin.on('end', () => process.exit()).resume();
