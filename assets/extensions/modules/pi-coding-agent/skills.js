// Skills as they lie on disk: a folder with a SKILL.md, or a Markdown file.

import { readFileSync, readdirSync, realpathSync, statSync } from "../node/fs.js";
import { homedir } from "../node/os.js";
import { basename, dirname, join, resolve, sep } from "../node/path.js";
import { parseFrontmatter } from "./frontmatter.js";
import { createSyntheticSourceInfo } from "./guards.js";
import { CONFIG_DIR_NAME, getAgentDir } from "./resources.js";

// Lengths of https://agentskills.io/specification.
const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 1024;

function* mistakesOf(name, description) {
  if (typeof description !== "string" || !description.trim()) yield "description is required";
  else if (description.length > LONGEST_DESCRIPTION) yield `description exceeds ${LONGEST_DESCRIPTION} characters (${description.length})`;
  if (name.length > LONGEST_NAME) yield `name exceeds ${LONGEST_NAME} characters (${name.length})`;
  if (!/^[a-z0-9-]+$/.test(name)) yield "name contains invalid characters (must be lowercase a-z, 0-9, hyphens only)";
  if (/^-|-$/.test(name)) yield "name must not start or end with a hyphen";
  if (name.includes("--")) yield "name must not contain consecutive hyphens";
}

const warning = (message, path) => ({ type: "warning", message, path });

/** What is at a path, links followed: a folder, a file or nothing. */
const at = (path) => {
  try {
    const found = statSync(path);
    return { isFolder: found.isDirectory(), isFile: found.isFile() };
  } catch {
    return {};
  }
};

function readSkill(path, source, found) {
  try {
    const { frontmatter } = parseFrontmatter(readFileSync(path, "utf8"));
    const baseDir = dirname(path);
    const { description } = frontmatter;
    const name = String(frontmatter.name || basename(baseDir));
    found.diagnostics.push(...[...mistakesOf(name, description)].map((message) => warning(message, path)));
    if (typeof description !== "string" || !description.trim()) return;
    const scope = source === "user" || source === "project" ? source : undefined;
    const sourceInfo = createSyntheticSourceInfo(path, { source: scope || source === "path" ? "local" : source, scope, baseDir });
    found.skills.push({ name, description, filePath: path, baseDir, sourceInfo, disableModelInvocation: frontmatter["disable-model-invocation"] === true });
  } catch (error) {
    found.diagnostics.push(warning(error.message, path));
  }
}

function readFolder(folder, source, found, isTop) {
  let names;
  try {
    names = readdirSync(folder);
  } catch {
    return;
  }
  if (names.includes("SKILL.md") && at(join(folder, "SKILL.md")).isFile) {
    readSkill(join(folder, "SKILL.md"), source, found);
    return;
  }
  for (const name of names) {
    if (name.startsWith(".") || name === "node_modules") continue;
    const path = join(folder, name);
    const { isFolder, isFile } = at(path);
    if (isFolder) readFolder(path, source, found, false);
    else if (isFile && isTop && name.endsWith(".md")) readSkill(path, source, found);
  }
}

export function loadSkillsFromDir({ dir, source = "path" }) {
  const found = { skills: [], diagnostics: [] };
  readFolder(dir, source, found, true);
  return found;
}

/** Those of all places; of two of one name the first. */
export function loadSkills({ cwd = globalThis.process.cwd(), agentDir = getAgentDir(), skillPaths = [], includeDefaults = true } = {}) {
  const [own, ofProject] = [join(agentDir, "skills"), resolve(cwd, CONFIG_DIR_NAME, "skills")];
  const found = { skills: [], diagnostics: [] };
  if (includeDefaults) {
    readFolder(own, "user", found, true);
    readFolder(ofProject, "project", found, true);
  }
  const isBelow = (path, folder) => path === folder || path.startsWith(folder.replace(/\/?$/, sep));
  for (const given of skillPaths) {
    const path = resolve(cwd, given.trim().replace(/^~(?=\/|$)/, homedir()));
    const { isFolder, isFile } = at(path);
    const named = includeDefaults ? "path" : isBelow(path, own) ? "user" : isBelow(path, ofProject) ? "project" : "path";
    if (isFolder) readFolder(path, named, found, true);
    else if (isFile && path.endsWith(".md")) readSkill(path, named, found);
    else found.diagnostics.push(warning(isFile ? "skill path is not a markdown file" : "skill path does not exist", path));
  }
  const [skills, files] = [new Map(), new Set()];
  for (const skill of found.skills) {
    const { name, filePath } = skill;
    const real = realpathSync(filePath);
    if (files.has(real)) continue;
    const first = skills.get(name);
    if (first) {
      const collision = { resourceType: "skill", name, winnerPath: first.filePath, loserPath: filePath };
      found.diagnostics.push({ type: "collision", message: `name "${name}" collision`, path: filePath, collision });
      continue;
    }
    skills.set(name, skill);
    files.add(real);
  }
  return { skills: [...skills.values()], diagnostics: found.diagnostics };
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
