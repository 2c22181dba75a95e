// Where things are: the agent folder, the clipboard.

import { action, info } from "../../runtime/bridge.js";
import { homedir } from "../node/os.js";
import { join } from "../node/path.js";

export const VERSION = info.apiVersion ?? "0.84.1";
/** The name of pi's folder in a project and, before `agent`, of a person. */
export const CONFIG_DIR_NAME = ".pi";

export const getAgentDir = () => {
  const given = globalThis.process.env.PI_CODING_AGENT_DIR;
  if (given) return given.replace(/^~(?=\/|$)/, homedir());
  return info.agentDir ?? join(homedir(), ".pi", "agent");
};
/** Where pi's package would be. Nothing is there. */
export const getPackageDir = () => join(getAgentDir(), "pi-coding-agent");
export const getReadmePath = () => join(getPackageDir(), "README.md");
export const getDocsPath = () => join(getPackageDir(), "docs");
export const getExamplesPath = () => join(getPackageDir(), "examples");
export const copyToClipboard = (text) => action("clipboard.copy", { text: String(text) });
