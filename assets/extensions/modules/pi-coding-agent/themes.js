// Themes for the components, made of the host's theme, and the colouring of code and diffs.

import { ask } from "../../runtime/bridge.js";
import { theme } from "../../host/theme.js";

const fg = (role) => (text) => theme.fg(role, text);

export const getSelectListTheme = () => ({
  selectedPrefix: fg("accent"), selectedText: fg("accent"), description: fg("muted"), scrollInfo: fg("muted"), noMatch: fg("muted"),
});
export const getSettingsListTheme = () => ({
  label: (text, selected) => (selected ? theme.fg("accent", text) : text),
  value: (text, selected) => theme.fg(selected ? "accent" : "muted", text),
  description: fg("dim"),
  cursor: theme.fg("accent", "→ "),
  hint: fg("dim"),
});
export const getMarkdownTheme = () => ({
  heading: fg("mdHeading"), link: fg("mdLink"), linkUrl: fg("mdLinkUrl"), code: fg("mdCode"), codeBlock: fg("mdCodeBlock"),
  codeBlockBorder: fg("mdCodeBlockBorder"), quote: fg("mdQuote"), quoteBorder: fg("mdQuoteBorder"), hr: fg("mdHr"), listBullet: fg("mdListBullet"),
  bold: theme.bold, italic: theme.italic, underline: theme.underline, strikethrough: theme.strikethrough, highlightCode,
});

/** Lines of code with escapes. The host colours them; without it they have one colour. */
export function highlightCode(code, language) {
  const lines = language ? ask("ui.highlight", { code, language }) : undefined;
  return Array.isArray(lines) ? lines : code.split("\n").map(fg("mdCodeBlock"));
}

const LANGUAGES = {
  ts: "typescript", tsx: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript", cjs: "javascript", py: "python", rb: "ruby", rs: "rust",
  go: "go", java: "java", kt: "kotlin", swift: "swift", c: "c", h: "c", cpp: "cpp", cc: "cpp", hpp: "cpp", cs: "csharp", php: "php", sh: "bash", bash: "bash",
  zsh: "bash", fish: "fish", ps1: "powershell", sql: "sql", html: "html", htm: "html", css: "css", scss: "scss", json: "json", yaml: "yaml", yml: "yaml",
  toml: "toml", xml: "xml", md: "markdown", markdown: "markdown", dockerfile: "dockerfile", makefile: "makefile", lua: "lua", r: "r", scala: "scala",
  ex: "elixir", exs: "elixir", erl: "erlang", hs: "haskell", ml: "ocaml", vim: "vim", graphql: "graphql", proto: "protobuf", tf: "hcl",
};
export const getLanguageFromPath = (path) => LANGUAGES[String(path).split(/[./]/).at(-1).toLowerCase()];

/** A diff with numbered lines, in the theme's colours. */
export const renderDiff = (diff) =>
  diff
    .split("\n")
    .map((line) => theme.fg(line.startsWith("+") ? "toolDiffAdded" : line.startsWith("-") ? "toolDiffRemoved" : "toolDiffContext", line))
    .join("\n");

export const initTheme = () => {};
