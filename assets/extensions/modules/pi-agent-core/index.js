// The pi-agent-core module: agents that an extension runs beside the thread, with models and keys of the host.

import { withStubs } from "../stubs.js";

export { Agent } from "./agent.js";
export { agentLoop, agentLoopContinue, runAgentLoop, runAgentLoopContinue } from "./loop.js";

export const { streamProxy } = withStubs("pi-agent-core");
