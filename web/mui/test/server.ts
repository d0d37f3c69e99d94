// A server on a port of its own that does what a test says, over a real network.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface Received {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: any;
}

/** Answers the n-th request. */
export type Respond = (request: Received, response: ServerResponse, count: number) => void;

export async function serve(respond: Respond): Promise<{ url: string; requests: Received[]; close(): void }> {
  const requests: Received[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const { pathname, searchParams } = new URL(request.url as string, 'http://localhost');
    const { method = '', headers } = request;
    requests.push({ method, path: pathname, query: searchParams, headers, body: text ? JSON.parse(text) : undefined });
    respond(requests.at(-1) as Received, response, requests.length - 1);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/mui/chat`,
    requests,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The frames of chunks, numbered from `first` on. */
export const frames = (first: number, ...chunks: object[]): string =>
  chunks.map((chunk, at) => `id: ${first + at}\ndata: ${JSON.stringify({ eventId: `e${first + at}`, sequence: first + at, chunk })}\n\n`).join('');

/** Begins a stream. */
export function begin(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-run-id': 'run_1' });
  response.write(text);
}
