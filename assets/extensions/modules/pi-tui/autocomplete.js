// CombinedAutocompleteProvider: commands after "/", files after "@" or on Tab.

import { ask } from "../../runtime/bridge.js";
import { readdirSync, existsSync } from "../node/fs.js";
import { dirname, join } from "../node/path.js";
import { fuzzyFilter } from "./fuzzy.js";

export class CombinedAutocompleteProvider {
  #commands;
  #base;
  constructor(commands = [], basePath = ask("session.info")?.cwd ?? "/") {
    this.#commands = commands;
    this.#base = basePath;
  }

  async getSuggestions(lines, line, col) {
    const before = (lines[line] ?? "").slice(0, col);
    if (before.startsWith("/")) {
      const space = before.indexOf(" ");
      if (space < 0) {
        const list = this.#commands.map((command) => ({ value: command.name ?? command.value, label: command.name ?? command.label, description: command.description }));
        return result(fuzzyFilter(list, before.slice(1), (item) => item.value), before);
      }
      const command = this.#commands.find((item) => (item.name ?? item.value) === before.slice(1, space));
      const prefix = before.slice(space + 1);
      return result((await command?.getArgumentCompletions?.(prefix)) ?? [], prefix);
    }
    const at = /(?:^|\s)(@\S*)$/.exec(before);
    return at ? result(this.#files(at[1].slice(1), "@"), at[1]) : null;
  }

  async getForceFileSuggestions(lines, line, col) {
    const word = /(\S*)$/.exec((lines[line] ?? "").slice(0, col))[1];
    return result(this.#files(word.replace(/^@/, ""), word.startsWith("@") ? "@" : ""), word);
  }

  shouldTriggerFileCompletion(lines, line, col) {
    return !/^\/\S*$/.test((lines[line] ?? "").slice(0, col));
  }

  #files(prefix, mark) {
    const folder = prefix.endsWith("/") ? prefix : dirname(prefix) === "." ? "" : `${dirname(prefix)}/`;
    const start = prefix.slice(folder.length);
    const full = folder.startsWith("/") ? folder : join(this.#base, folder);
    if (!existsSync(full)) return [];
    return readdirSync(full, { withFileTypes: true })
      .filter((entry) => entry.name.toLowerCase().startsWith(start.toLowerCase()) && entry.name !== ".git")
      .slice(0, 50)
      .map((entry) => {
        const name = entry.name + (entry.isDirectory() ? "/" : "");
        return { value: `${mark}${folder}${name}`, label: name };
      });
  }

  applyCompletion(lines, line, col, item, prefix) {
    const text = lines[line] ?? "";
    const start = text.slice(0, col - prefix.length);
    const command = start === "" && prefix.startsWith("/");
    const added = command ? `/${item.value} ` : item.value.endsWith("/") || !prefix.startsWith("@") ? item.value : `${item.value} `;
    return { lines: lines.toSpliced(line, 1, start + added + text.slice(col)), cursorLine: line, cursorCol: start.length + added.length };
  }
}

const result = (items, prefix) => (items.length > 0 ? { items, prefix } : null);
