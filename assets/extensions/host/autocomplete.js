// Completion in the input line by extensions: each wraps the provider before it, the host's own first.

import { plain } from "../runtime/clone.js";
import { attemptNow, attempt, extensions } from "./registry.js";

/** The host's own suggestions arrive with the question, so the innermost provider only hands them on. */
const base = (own) => ({
  getSuggestions: async () => own ?? null,
  applyCompletion: (lines, line, col, item, prefix) => {
    const text = lines[line] ?? "";
    const start = text.slice(0, col - prefix.length) + item.value;
    return { lines: lines.toSpliced(line, 1, start + text.slice(col)), cursorLine: line, cursorCol: start.length };
  },
});

function chain(own) {
  let provider = base(own);
  let last;
  for (const extension of extensions.values()) {
    for (const make of extension.autocompleters) {
      const inner = provider;
      const made = attemptNow(extension, "autocomplete", () => make(inner), undefined);
      if (made && typeof made.getSuggestions === "function") {
        provider = made;
        last = extension;
      }
    }
  }
  return { provider, extension: last };
}

/** `{items, prefix}`, or null. `own` is what the host would suggest. */
export async function suggest({ lines, line, col, force = false, own }) {
  const { provider, extension } = chain(own);
  if (!extension) return { result: own ?? null };
  const { result, error } = await attempt(extension, "autocomplete", () => provider.getSuggestions(lines, line, col, { force }));
  return error ? { result: own ?? null, error } : { result: plain(result) ?? null };
}

export function applySuggestion({ lines, line, col, item, prefix }) {
  const { provider, extension } = chain(null);
  const fallback = base(null).applyCompletion(lines, line, col, item, prefix);
  if (!extension || typeof provider.applyCompletion !== "function") return fallback;
  return plain(attemptNow(extension, "autocomplete", () => provider.applyCompletion(lines, line, col, item, prefix), fallback));
}
