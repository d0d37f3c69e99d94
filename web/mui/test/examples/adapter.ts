import { createHeadwaterAdapter } from '@headwater/mui';

export const adapterFor = (server: string, token: () => Promise<string>) =>
  createHeadwaterAdapter({
    url: `${server}/v1/mui/chat`,
    agent: 'tools',
    headers: async () => ({ authorization: `Bearer ${await token()}` }),
  });
