// The block of settings between two `---` lines at the head of a Markdown file.
//
// A reader for the YAML that such blocks use: scalars, quoted text, lists, maps by indentation, flow
// lists and maps, block text.

export function parseFrontmatter(content) {
  const text = content.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const match = /^---[ \t]*\n([\s\S]*?)(?:\n)?---[ \t]*(?:\n|$)/.exec(text);
  if (!match || (match[1] !== "" && !text.slice(0, match[0].length).match(/\n---[ \t]*(\n|$)/))) return { frontmatter: {}, body: text };
  return { frontmatter: parseYaml(match[1]) ?? {}, body: text.slice(match[0].length).trim() };
}
export const stripFrontmatter = (content) => parseFrontmatter(content).body;

export function parseYaml(text) {
  const lines = text.split("\n").map((raw) => ({ indent: raw.search(/\S|$/), text: raw.trim(), raw }));
  const state = { lines, at: 0 };
  return readBlock(state, 0);
}

const skip = (state) => {
  while (state.at < state.lines.length && (state.lines[state.at].text === "" || state.lines[state.at].text.startsWith("#"))) state.at++;
};

function readBlock(state, indent) {
  skip(state);
  const first = state.lines[state.at];
  if (!first || first.indent < indent) return null;
  return first.text.startsWith("- ") || first.text === "-" ? readList(state, first.indent) : readMap(state, first.indent);
}

function readList(state, indent) {
  const list = [];
  for (skip(state); state.at < state.lines.length; skip(state)) {
    const line = state.lines[state.at];
    if (line.indent !== indent || !/^-(\s|$)/.test(line.text)) break;
    const rest = line.text.slice(1).trim();
    if (rest === "") {
      state.at++;
      list.push(readBlock(state, indent + 1));
    } else if (/^[^\s"'[{][^:]*:(\s|$)/.test(rest)) {
      // A map that starts on the line of its dash.
      const inner = indent + line.text.indexOf(rest, 1);
      state.lines[state.at] = { indent: inner, text: rest, raw: " ".repeat(inner) + rest };
      list.push(readMap(state, inner));
    } else {
      state.at++;
      list.push(scalar(rest));
    }
  }
  return list;
}

function readMap(state, indent) {
  const map = {};
  for (skip(state); state.at < state.lines.length; skip(state)) {
    const line = state.lines[state.at];
    if (line.indent !== indent) break;
    const match = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^:#]+?)\s*:(?:\s+(.*))?$/.exec(line.text);
    if (!match) throw new Error(`line ${state.at + 1} of the frontmatter is not "name: value"`);
    const key = String(scalar(match[1]));
    const value = (match[2] ?? "").trim();
    state.at++;
    if (key === "__proto__") continue;
    if (/^[|>][+-]?$/.test(value)) map[key] = blockText(state, indent, value);
    else if (value === "" || value.startsWith("#")) {
      skip(state);
      const next = state.lines[state.at];
      const sameList = next && next.indent === indent && /^-(\s|$)/.test(next.text);
      map[key] = next && (next.indent > indent || sameList) ? readBlock(state, next.indent) : null;
    } else map[key] = scalar(value);
  }
  return map;
}

function blockText(state, indent, mark) {
  const rows = [];
  let inner;
  while (state.at < state.lines.length) {
    const line = state.lines[state.at];
    if (line.text !== "" && line.indent <= indent) break;
    if (line.text !== "") inner ??= line.indent;
    rows.push(line.raw.slice(inner ?? line.indent));
    state.at++;
  }
  while (rows.at(-1) === "") rows.pop();
  const text = mark[0] === "|" ? rows.join("\n") : rows.join("\n").replace(/([^\n])\n(?=[^\n])/g, "$1 ").replace(/\n\n/g, "\n");
  return mark[1] === "-" ? text : `${text}\n`;
}

function scalar(source) {
  const text = source.trim();
  if (text.startsWith('"')) {
    try {
      return JSON.parse(/^"(?:[^"\\]|\\.)*"/.exec(text)[0]);
    } catch {
      return text;
    }
  }
  if (text.startsWith("'")) return (/^'((?:[^']|'')*)'/.exec(text)?.[1] ?? text).replaceAll("''", "'");
  if (text.startsWith("[") && text.endsWith("]")) return splitFlow(text.slice(1, -1)).map(scalar);
  if (text.startsWith("{") && text.endsWith("}")) {
    return Object.fromEntries(splitFlow(text.slice(1, -1)).map((part) => {
      const cut = part.indexOf(":");
      return [String(scalar(part.slice(0, cut))), scalar(part.slice(cut + 1))];
    }));
  }
  const bare = text.replace(/\s+#.*$/, "");
  if (/^(null|~|Null|NULL)$/.test(bare) || bare === "") return null;
  if (/^(true|True|TRUE)$/.test(bare)) return true;
  if (/^(false|False|FALSE)$/.test(bare)) return false;
  if (/^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/.test(bare)) return Number(bare);
  return bare;
}

function splitFlow(text) {
  const parts = [];
  let depth = 0;
  let quote = "";
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const letter = text[i];
    if (quote) quote = letter === quote ? "" : quote;
    else if (letter === '"' || letter === "'") quote = letter;
    else if (letter === "[" || letter === "{") depth++;
    else if (letter === "]" || letter === "}") depth--;
    else if (letter === "," && depth === 0) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(text.slice(start));
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}
