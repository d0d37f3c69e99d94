/**
 * One server of a vendor on a port of the loopback: `node serve.mjs FILE EXPORT MODEL_URL FOLDER [REDIS_URL]` prints `listening PORT`.
 */
import { createServer } from 'node:http';
import { Readable } from 'node:stream';

const [file, name, model, folder, redis] = process.argv.slice(2);
const { [name]: open } = await import(`./servers/${file}.mjs`);
const respond = await open({ model, folder, redis });

const server = createServer(async (incoming, outgoing) => {
  const url = new URL(incoming.url, 'http://127.0.0.1');
  const body = incoming.method === 'POST' ? Readable.toWeb(incoming) : undefined;
  const request = new Request(url, { method: incoming.method, headers: incoming.headers, ...(body ? { body, duplex: 'half' } : {}) });
  const response = await Promise.resolve(respond(request, url)).catch((error) => new Response(String(error), { status: 500 }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  const reader = response.body?.getReader();
  // A page that has gone cancels the body, as frameworks do.
  outgoing.on('close', () => reader?.cancel().catch(() => {}));
  try {
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader.read()) outgoing.write(piece.value);
    outgoing.end();
  } catch {
    outgoing.destroy();
  }
});
// Some packages leave rejections behind when a page goes.
process.on('unhandledRejection', () => {});
server.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`));
process.stdin.on('end', () => process.exit()).resume();
