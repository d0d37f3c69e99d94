// The published suite, with everything that it has.

import { afterAll, beforeAll, describe } from 'vitest';
import { runConformanceTests } from '@durable-streams/server-conformance-tests';
import { Server } from '../clients/lib/server.mjs';

const settings = ['enabled=true', 'webhooks=true', 'long_poll=2s'].flatMap((setting) => [
  '--set',
  `durable_streams.${setting}`,
]);

describe('suite', () => {
  const options = { baseUrl: '', longPollTimeoutMs: 2_000, subscriptions: true };
  let server;
  beforeAll(async () => {
    server = await Server.start(process.env.HEADWATER_BINARY, { settings });
    options.baseUrl = `http://127.0.0.1:${await server.port}`;
  });
  afterAll(() => server?.stop());
  runConformanceTests(options);
});
