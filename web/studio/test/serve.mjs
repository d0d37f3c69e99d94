// The built studio as the server serves it, in front of another server: for answers that a real one does not give, and
// for a build that is not in the binary yet.

import { createServer, request } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const DIST = process.env.STUDIO_DIST ?? fileURLToPath(new URL('../../../crates/headwater-cli/src/serve/studio/', import.meta.url));

/** What the page may do: run its own files, talk to this server, and nothing else. */
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.woff2': 'font/woff2', '.txt': 'text/plain; charset=utf-8' };

/**
 * Serves the studio in front of a server: `target` gives its URL, which may change, or a function that responds in its place. Gives
 * the URL of the studio and a way to end it.
 */
export async function serveStudio(target, port = 0) {
  const studio = createServer(async (incoming, outgoing) => {
    const path = new URL(incoming.url, 'http://studio').pathname;
    const file = path === '/' ? 'index.html' : path.startsWith('/assets/') ? normalize(path).slice(1) : undefined;
    if (!file) return typeof target() === 'function' ? target()(incoming, outgoing) : proxy(target(), incoming, outgoing);
    try {
      const bytes = await readFile(join(DIST, file));
      outgoing.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream', 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff' });
      outgoing.end(bytes);
    } catch {
      outgoing.writeHead(404).end();
    }
  });
  await new Promise((resolve) => studio.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${studio.address().port}`,
    close: () => {
      studio.closeAllConnections();
      studio.close();
    },
  };
}

/** The server sees a request of its own page. */
function proxy(target, incoming, outgoing) {
  const { hostname, port, origin, host } = new URL(target);
  const headers = { ...incoming.headers, host };
  if (headers.origin) headers.origin = origin;
  const onward = request({ hostname, port, path: incoming.url, method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
    // A server that dies in the middle of a stream is a cut connection, not an end.
    answer.on('error', () => outgoing.destroy());
    answer.on('aborted', () => outgoing.destroy());
  });
  onward.on('error', () => outgoing.destroy());
  outgoing.on('close', () => onward.destroy());
  incoming.pipe(onward);
}
