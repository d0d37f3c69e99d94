/** CopilotKit's runtime with its own agent, and its runner, which keeps threads in memory and sends them to pages that connect. */
import { load } from '../../servers/load.mjs';

process.env.COPILOTKIT_TELEMETRY_DISABLED = 'true';

export async function plain({ model }) {
  const { BuiltInAgent, CopilotRuntime, createCopilotEndpoint, InMemoryAgentRunner } = await load('@copilotkit/runtime/v2');
  const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible');
  const script = createOpenAICompatible({ name: 'script', baseURL: model })('script');
  const runtime = new CopilotRuntime({ agents: { network: new BuiltInAgent({ model: script }) }, runner: new InMemoryAgentRunner() });
  const { fetch } = createCopilotEndpoint({ runtime, basePath: '/copilotkit' });
  return (request) => fetch(request);
}
