// Completion in the draft by extensions: the arguments of a command by the command itself, everything else by providers, each of
// which wraps the one before it, the innermost being the embedder's own.

import { plain } from "../runtime/clone.js";
import { report } from "../runtime/bridge.js";
import { completeCommand } from "./calls.js";
import { attempt, attemptNow, extensions } from "./registry.js";

// More than these of one question are not shown.
const MOST = 50;

/** What is asked now: the innermost provider answers for it. */
let question;
let asked;
const failed = new Set();

/** A mistake is told once: every key asks again. */
function tellOnce(extension, event, error) {
  const key = `${extension.id} ${event}`;
  if (!failed.has(key)) report(extension.id, event, error);
  failed.add(key);
}

const innermost = {
  async getSuggestions(lines, line, col) {
    const { command, own } = question;
    const before = (lines[line] ?? "").slice(0, col);
    const gap = line === 0 && command ? before.search(/\s/) : -1;
    if (gap < 0) return own ?? null;
    const prefix = before.slice(gap + 1);
    const { result, error, extension, thrown } = await completeCommand(command, prefix);
    if (error && extension) tellOnce(extension, error.event, thrown);
    return Array.isArray(result) && result.length > 0 ? { items: result, prefix } : null;
  },
  applyCompletion(lines, line, col, item, prefix) {
    const text = lines[line] ?? "";
    const before = text.slice(0, col - prefix.length);
    const isName = prefix.startsWith("/") && before.trim() === "" && !prefix.slice(1).includes("/");
    const isFolder = String(item.label ?? "").endsWith("/");
    const put = isName ? `/${item.value} ` : `${item.value}${prefix.startsWith("@") && !isFolder ? " " : ""}`;
    return { lines: lines.toSpliced(line, 1, before + put + text.slice(col)), cursorLine: line, cursorCol: before.length + put.length };
  },
  shouldTriggerFileCompletion: () => true,
};

let chained = { factories: [], provider: innermost, extension: undefined };

/** The outermost provider. Each is made once, as long as the same are registered: they keep what they know. */
function chain() {
  const factories = [...extensions.values()].flatMap((extension) => extension.autocompleters.map((make) => ({ extension, make })));
  const same = factories.length === chained.factories.length && factories.every(({ make }, place) => chained.factories[place].make === make);
  if (same) return chained;
  let provider = innermost;
  let last;
  for (const { extension, make } of factories) {
    const inner = provider;
    const made = attemptNow(extension, "autocomplete", () => make(inner), undefined);
    if (made && typeof made.getSuggestions === "function") {
      provider = made;
      last = extension;
    }
  }
  chained = { factories, provider, extension: last };
  return chained;
}

const letters = (text) => [...text].length;

/** What choosing an item changes of the draft, counted in letters; undefined where it is nothing that can be done. */
function edit({ provider, extension }, lines, line, col, item, prefix) {
  const usual = () => innermost.applyCompletion(lines, line, col, item, prefix);
  const own = extension && typeof provider.applyCompletion === "function";
  const after = own ? attemptNow(extension, "autocomplete", () => provider.applyCompletion([...lines], line, col, item, prefix), undefined) ?? usual() : usual();
  if (!Array.isArray(after?.lines)) return undefined;
  const old = [...lines.join("\n")];
  const changed = [...after.lines.join("\n")];
  let from = 0;
  while (from < old.length && from < changed.length && old[from] === changed[from]) from += 1;
  let left = 0;
  while (left < Math.min(old.length, changed.length) - from && old.at(-1 - left) === changed.at(-1 - left)) left += 1;
  // At least what was begun is replaced, so that one who goes on writing can be told what still fits.
  const start = letters(lines.slice(0, line).map((text) => `${text}\n`).join("")) + letters((lines[line] ?? "").slice(0, col - prefix.length));
  const cursor = start + letters(prefix);
  const first = Math.min(from, start);
  const last = Math.max(old.length - left, Math.min(cursor, old.length));
  const beforeCursor = after.lines.slice(0, after.cursorLine).map((text) => `${text}\n`).join("") + (after.lines[after.cursorLine] ?? "").slice(0, after.cursorCol);
  return { from: first, to: last, text: changed.slice(first, changed.length - (old.length - last)).join(""), cursor: letters(beforeCursor) };
}

/**
 * What can complete a draft: `{lines, line, column, command, own}` with `column` in letters, `command` the one of an extension whose
 * arguments are written, and `own` what the embedder would offer (`{items, prefix}` or null). Gives a list of
 * `{value, label, description, edit}`; `edit` is missing where the item is one of `own`. Of two questions the older is given up:
 * its signal is aborted, and it is answered with nothing at once.
 */
export async function complete({ lines, line, column, command, own }) {
  const col = [...(lines[line] ?? "")].slice(0, column).join("").length;
  asked?.abort();
  const mine = new AbortController();
  asked = mine;
  question = { command, own };
  const { provider, extension } = chain();
  const givenUp = new Promise((resolve) => mine.signal.addEventListener("abort", () => resolve(null), { once: true }));
  const ask = () => Promise.race([provider.getSuggestions([...lines], line, col, { signal: mine.signal, force: false }), givenUp]);
  const answer = extension ? await attempt(extension, "autocomplete", ask) : { result: await ask() };
  if (answer.error) tellOnce(extension, "autocomplete", answer.thrown);
  const suggested = answer.error ? own : answer.result;
  const items = Array.isArray(suggested?.items) ? suggested.items.slice(0, MOST) : [];
  const prefix = String(suggested?.prefix ?? "");
  const isOwn = (item) => own?.items.some(({ value }) => value === item.value) && prefix === own.prefix;
  const list = items.filter((item) => item && typeof item.value === "string").map((item) => {
    const told = { value: item.value, label: String(item.label ?? item.value), description: String(item.description ?? "") };
    if (isOwn(item)) return told;
    const change = edit({ provider, extension }, lines, line, col, item, prefix);
    return change && { ...told, edit: change };
  });
  return { result: plain(list.filter(Boolean)) };
}
