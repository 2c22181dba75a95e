// Tools and commands as lists of plain data: the host's own ones and those of the extensions.

import { ask } from "../runtime/bridge.js";
import { plain } from "../runtime/clone.js";
import { commandTable, toolTable } from "./registry.js";

/** What the host needs to offer a tool to a model. */
export function toolDescriptions() {
  return [...toolTable()].map(([name, { tool, extension, sourceInfo }]) => ({
    name,
    label: tool.label ?? name,
    description: tool.description ?? "",
    parameters: plain(tool.parameters),
    promptSnippet: tool.promptSnippet,
    promptGuidelines: Array.isArray(tool.promptGuidelines) ? tool.promptGuidelines.map(String) : undefined,
    executionMode: tool.executionMode,
    preparesArguments: typeof tool.prepareArguments === "function",
    renderShell: tool.renderShell,
    rendersCall: typeof tool.renderCall === "function",
    rendersResult: typeof tool.renderResult === "function",
    path: extension.path,
    extension: extension.id,
    sourceInfo,
  }));
}

/** pi.getAllTools: the host's list is complete, so that built-in tools are in it too. */
export function toolList() {
  const table = toolTable();
  const builtIn = (name) => ({ path: `<builtin:${name}>`, source: "builtin", scope: "temporary", origin: "top-level" });
  return (ask("tools.all") ?? []).map((tool) => ({ ...tool, sourceInfo: table.get(tool.name)?.sourceInfo ?? builtIn(tool.name) }));
}

export function commandDescriptions() {
  return commandTable().map(({ invoke, name, command, extension, sourceInfo }) => ({
    name: invoke,
    registered: name,
    description: command.description,
    completes: typeof command.getArgumentCompletions === "function",
    path: extension.path,
    extension: extension.id,
    sourceInfo,
  }));
}

/** pi.getCommands: commands of extensions, then templates and skills from the host. */
export function commandList() {
  const own = commandDescriptions().map(({ name, description, path, sourceInfo }) => ({ name, description, source: "extension", path, sourceInfo }));
  return [...own, ...(ask("commands.others") ?? [])];
}
