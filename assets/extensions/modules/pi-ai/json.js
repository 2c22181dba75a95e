// JSON that is not finished, or not quite JSON, as models send it; and the check of tool arguments.

import { Convert, problems } from "../typebox/value.js";
import { structuredClone } from "../../runtime/clone.js";

/** Escapes raw control characters inside strings and drops trailing commas. */
export function repairJson(text) {
  let out = "";
  let inside = false;
  for (let i = 0; i < text.length; i++) {
    const letter = text[i];
    if (inside && letter === "\\") {
      const next = text[++i];
      if (next === undefined) break;
      out += /["\\/bfnrtu]/.test(next) ? letter + next : `\\\\${next}`;
    } else if (letter === '"') {
      inside = !inside;
      out += letter;
    } else if (inside && letter < " ") out += letter === "\n" ? "\\n" : letter === "\t" ? "\\t" : letter === "\r" ? "\\r" : `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
    else out += letter;
  }
  return out.replace(/,(\s*[}\]])/g, "$1");
}

export function parseJsonWithRepair(text) {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(repairJson(text));
  }
}

/** The value of a JSON text so far; `{}` if nothing can be read yet. */
export function parseStreamingJson(text) {
  const source = String(text ?? "").trim();
  if (source === "") return {};
  try {
    return JSON.parse(source);
  } catch {
    // Not finished: cut back to where it can be closed.
  }
  const body = repairJson(source);
  for (let end = body.length; end > 0 && end > body.length - 2000; end--) {
    const closed = close(body.slice(0, end));
    if (closed === undefined) continue;
    try {
      return JSON.parse(closed);
    } catch {
      // Try a shorter beginning.
    }
  }
  return {};
}

function close(text) {
  const open = [];
  let inside = false;
  for (let i = 0; i < text.length; i++) {
    const letter = text[i];
    if (inside) {
      if (letter === "\\") i++;
      else if (letter === '"') inside = false;
    } else if (letter === '"') inside = true;
    else if (letter === "{") open.push("}");
    else if (letter === "[") open.push("]");
    else if (letter === "}" || letter === "]") open.pop();
  }
  return text.replace(/[,:]\s*$/, "") + (inside ? '"' : "") + open.reverse().join("");
}

/** The arguments of a call, converted to the tool's schema; throws a readable list of what is wrong. */
export function validateToolArguments(tool, call) {
  const value = Convert(tool.parameters, structuredClone(call.arguments));
  const list = problems(tool.parameters, value);
  if (list.length === 0) return value;
  const lines = list.map(({ path, message }) => `  - ${path.slice(1) || "root"}: ${message}`).join("\n");
  throw new Error(`Validation failed for tool "${call.name}":\n${lines}\n\nReceived arguments:\n${JSON.stringify(call.arguments, null, 2)}`);
}

export function validateToolCall(tools, call) {
  const tool = tools.find((item) => item.name === call.name);
  if (!tool) throw new Error(`Tool "${call.name}" not found`);
  return validateToolArguments(tool, call);
}
