// Where things are: the agent folder, skills on disk, the clipboard.

import { action, info } from "../../runtime/bridge.js";
import { existsSync, readFileSync, readdirSync } from "../node/fs.js";
import { basename, dirname, join } from "../node/path.js";
import { homedir } from "../node/os.js";
import { parseFrontmatter } from "./frontmatter.js";

export const VERSION = info.apiVersion ?? "0.84.1";
/** The name of pi's folder in a project and, before `agent`, of a person. */
export const CONFIG_DIR_NAME = ".pi";

export const getAgentDir = () => {
  const given = globalThis.process.env.PI_CODING_AGENT_DIR;
  if (given) return given.replace(/^~(?=\/|$)/, homedir());
  return info.agentDir ?? join(homedir(), ".pi", "agent");
};
export const copyToClipboard = (text) => action("clipboard.copy", { text: String(text) });

export function loadSkillsFromDir({ dir, source = "path" }) {
  const skills = [];
  const diagnostics = [];
  const read = (path) => {
    try {
      const { frontmatter } = parseFrontmatter(readFileSync(path, "utf8"));
      const name = frontmatter.name ?? basename(dirname(path));
      if (!frontmatter.description) diagnostics.push({ type: "warning", message: "description is required", path });
      else skills.push({ name: String(name), description: String(frontmatter.description), filePath: path, baseDir: dirname(path), source, disableModelInvocation: frontmatter["disable-model-invocation"] === true });
    } catch (error) {
      diagnostics.push({ type: "warning", message: error.message, path });
    }
  };
  const walk = (folder, root) => {
    if (existsSync(join(folder, "SKILL.md"))) return read(join(folder, "SKILL.md"));
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      if (entry.isDirectory()) walk(join(folder, entry.name), false);
      else if (root && entry.name.endsWith(".md")) read(join(folder, entry.name));
    }
  };
  if (existsSync(dir)) walk(dir, true);
  return { skills, diagnostics };
}

const escapeXml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&apos;");
export function formatSkillsForPrompt(skills) {
  const shown = skills.filter((skill) => !skill.disableModelInvocation);
  if (shown.length === 0) return "";
  const rows = shown.flatMap(({ name, description, filePath }) => ["  <skill>", `    <name>${escapeXml(name)}</name>`, `    <description>${escapeXml(description)}</description>`, `    <location>${escapeXml(filePath)}</location>`, "  </skill>"]);
  return `\n\nSkills for particular tasks. Read the file of a skill when a task fits its description.\n\n<available_skills>\n${rows.join("\n")}\n</available_skills>`;
}

export function parseSkillBlock(text) {
  const match = /^<skill name="([^"]*)" location="([^"]*)">\n([\s\S]*?)\n<\/skill>(?:\n\n([\s\S]+))?$/.exec(text);
  return match ? { name: match[1], location: match[2], content: match[3], userMessage: match[4]?.trim() } : null;
}
