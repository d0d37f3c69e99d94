/** CopilotKit's runtime with an agent of `@ag-ui/client`. */
import { AbstractAgent } from '@ag-ui/client';
import { CopilotRuntime, createCopilotEndpoint, InMemoryAgentRunner } from '@copilotkit/runtime/v2';
import { Observable } from 'rxjs';
import { run } from './ag-ui.mjs';

class ScriptedAgent extends AbstractAgent {
  run(input) {
    return new Observable((subscriber) => {
      (async () => {
        for await (const event of run(input)) subscriber.next(event);
        subscriber.complete();
      })().catch((error) => subscriber.error(error));
    });
  }

  clone() {
    return new ScriptedAgent({ agentId: this.agentId });
  }
}

const runtime = new CopilotRuntime({ agents: { script: new ScriptedAgent({ agentId: 'script' }) }, runner: new InMemoryAgentRunner() });

/** Its routes, under `/copilotkit`. */
export const { fetch } = createCopilotEndpoint({ runtime, basePath: '/copilotkit' });
