// pi-agent-core: agents inside an extension are not offered; the names exist so that files load.

import { withStubs } from "./stubs.js";

export const {
  Agent, agentLoop, agentLoopContinue, runAgentLoop, runAgentLoopContinue, streamProxy,
} = withStubs("pi-agent-core");
