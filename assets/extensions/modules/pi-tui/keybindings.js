// Which keys stand for which action, under the old short names and the newer dotted ones.

import { matchesKey } from "./keys.js";

export const DEFAULT_EDITOR_KEYBINDINGS = {
  cursorUp: "up", cursorDown: "down", cursorLeft: ["left", "ctrl+b"], cursorRight: ["right", "ctrl+f"],
  cursorWordLeft: ["alt+left", "ctrl+left", "alt+b"], cursorWordRight: ["alt+right", "ctrl+right", "alt+f"],
  cursorLineStart: ["home", "ctrl+a"], cursorLineEnd: ["end", "ctrl+e"], jumpForward: "ctrl+]", jumpBackward: "ctrl+alt+]",
  pageUp: "pageUp", pageDown: "pageDown", deleteCharBackward: "backspace", deleteCharForward: ["delete", "ctrl+d"],
  deleteWordBackward: ["ctrl+w", "alt+backspace"], deleteWordForward: ["alt+d", "alt+delete"], deleteToLineStart: "ctrl+u", deleteToLineEnd: "ctrl+k",
  newLine: "shift+enter", submit: "enter", tab: "tab", selectUp: "up", selectDown: "down", selectPageUp: "pageUp", selectPageDown: "pageDown",
  selectConfirm: "enter", selectCancel: ["escape", "ctrl+c"], copy: "ctrl+c", yank: "ctrl+y", yankPop: "alt+y", undo: "ctrl+-", expandTools: "ctrl+o",
  treeFoldOrUp: ["ctrl+left", "alt+left"], treeUnfoldOrDown: ["ctrl+right", "alt+right"], toggleSessionPath: "ctrl+p", toggleSessionSort: "ctrl+s",
  renameSession: "ctrl+r", deleteSession: "ctrl+d", deleteSessionNoninvasive: "ctrl+backspace",
};

const APP = {
  interrupt: "escape", clear: "ctrl+c", exit: "ctrl+d", suspend: "ctrl+z", externalEditor: "ctrl+g", toggleThinking: "ctrl+t", selectModel: "ctrl+l",
  cycleModelForward: "ctrl+p", cycleModelBackward: "shift+ctrl+p", cycleThinkingLevel: "shift+tab", followUp: "alt+enter", dequeue: "alt+up",
  pasteImage: "ctrl+v", newSession: [], tree: [], fork: [], resume: [],
};

const NEW_PREFIX = (name) =>
  name in APP ? "app" : name.startsWith("select") ? "tui.select" : ["newLine", "submit", "tab", "copy"].includes(name) ? "tui.input" : "tui.editor";

/** New-style id → old name: `tui.select.up` is `selectUp`. */
const RENAMED = new Map();
for (const name of [...Object.keys(DEFAULT_EDITOR_KEYBINDINGS), ...Object.keys(APP)]) {
  const prefix = NEW_PREFIX(name);
  const short = prefix === "tui.select" ? name.slice(6, 7).toLowerCase() + name.slice(7) : name;
  RENAMED.set(`${prefix}.${short}`, name);
}
const NEWER = {
  "app.tools.expand": "expandTools", "app.thinking.toggle": "toggleThinking", "app.thinking.cycle": "cycleThinkingLevel", "app.editor.external": "externalEditor",
  "app.model.select": "selectModel", "app.model.cycleForward": "cycleModelForward", "app.model.cycleBackward": "cycleModelBackward",
  "app.message.followUp": "followUp", "app.message.dequeue": "dequeue", "app.clipboard.pasteImage": "pasteImage", "app.session.new": "newSession",
  "app.session.tree": "tree", "app.session.fork": "fork", "app.session.resume": "resume",
};
for (const [id, name] of Object.entries(NEWER)) RENAMED.set(id, name);

export const TUI_KEYBINDINGS = Object.fromEntries(
  [...RENAMED].filter(([id]) => id.startsWith("tui.")).map(([id, name]) => [id, { defaultKeys: DEFAULT_EDITOR_KEYBINDINGS[name] }]),
);

export class KeybindingsManager {
  #keys;
  constructor(first = {}, second) {
    this.setConfig(second ?? first);
  }
  setConfig(config = {}) {
    this.#keys = new Map(Object.entries({ ...DEFAULT_EDITOR_KEYBINDINGS, ...APP }));
    for (const [name, keys] of Object.entries(config)) {
      const value = keys && typeof keys === "object" && !Array.isArray(keys) ? keys.defaultKeys : keys;
      if (value !== undefined) this.#keys.set(RENAMED.get(name) ?? name, value);
    }
  }
  getKeys(name) {
    return [].concat(this.#keys.get(RENAMED.get(name) ?? name) ?? []);
  }
  matches(data, name) {
    return this.getKeys(name).some((key) => matchesKey(data, key));
  }
  getConfig() {
    return Object.fromEntries(this.#keys);
  }
  getEffectiveConfig() {
    return this.getConfig();
  }
}
export class EditorKeybindingsManager extends KeybindingsManager {}

let current = new EditorKeybindingsManager();
export const getKeybindings = () => current;
export const setKeybindings = (manager) => {
  current = manager;
};
export const getEditorKeybindings = getKeybindings;
export const setEditorKeybindings = setKeybindings;
