// A small extension to start from: one tool, one command, one event.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
  let counted = 0;

  // The model can call this. What it throws becomes an error that the model reads.
  pi.registerTool({
    name: "count_words",
    label: "Count words",
    description: "Count the words of a text.",
    promptSnippet: "Count the words of a text",
    parameters: Type.Object({ text: Type.String({ description: "The text" }) }),
    async execute(_callId, { text }) {
      const words = text.split(/\s+/).filter(Boolean).length;
      counted += words;
      return { content: [{ type: "text", text: `${words} words` }], details: { words } };
    },
  });

  // The person types /counted.
  pi.registerCommand("counted", {
    description: "Show how many words were counted",
    handler: (_args, ctx) => {
      ctx.ui.notify(`${counted} words so far`, "info");
    },
  });

  // Every text that is sent passes here first: change it, take it, or let it go on.
  pi.on("input", (event) => {
    if (!event.text.startsWith("?count ")) return { action: "continue" };
    return { action: "transform", text: `Use count_words on: ${event.text.slice(7)}` };
  });
}
