// Components of the agent's own screen that extensions use: frames, loaders, the editor to build on.

import { ask } from "../../runtime/bridge.js";
import { theme as hostTheme } from "../../host/theme.js";
import { Container, Spacer, Text } from "../pi-tui/basic.js";
import { Editor } from "../pi-tui/editor.js";
import { getKeybindings } from "../pi-tui/keybindings.js";
import { CancellableLoader, Loader } from "../pi-tui/loader.js";
import { wrapTextWithAnsi } from "../pi-tui/ansi.js";
import { keyText } from "./keys.js";

/** A rule over the full width. */
export class DynamicBorder {
  #color;
  constructor(color = (text) => hostTheme.fg("border", text)) {
    this.#color = color;
  }
  invalidate() {}
  render(width) {
    return [this.#color("─".repeat(Math.max(1, width)))];
  }
}

export class BorderedLoader extends Container {
  #loader;
  constructor(tui, theme, message, options = {}) {
    super();
    const color = (role) => (text) => theme.fg(role, text);
    const cancellable = options.cancellable ?? true;
    this.#loader = cancellable ? new CancellableLoader(tui, color("accent"), color("muted"), message) : new Loader(tui, color("accent"), color("muted"), message);
    this.addChild(new DynamicBorder(color("border")));
    this.addChild(this.#loader);
    if (cancellable) {
      this.addChild(new Spacer(1));
      this.addChild(new Text(theme.fg("dim", `${keyText("selectCancel")} cancel`), 1, 0));
    }
    this.addChild(new Spacer(1));
    this.addChild(new DynamicBorder(color("border")));
  }
  get signal() {
    return this.#loader.signal;
  }
  set onAbort(listener) {
    this.#loader.onAbort = listener;
  }
  setMessage(message) {
    this.#loader.setMessage(message);
  }
  handleInput(data) {
    this.#loader.handleInput?.(data);
  }
  dispose() {
    if (this.#loader.dispose) this.#loader.dispose();
    else this.#loader.stop();
  }
}

const APP_ACTIONS = [
  "suspend", "cycleThinkingLevel", "cycleModelForward", "cycleModelBackward", "selectModel", "expandTools", "toggleThinking", "externalEditor",
  "followUp", "dequeue", "clear", "pasteImage",
];

/** The editor that extensions subclass. Keys of the program go to its handlers, or else to the host. */
export class CustomEditor extends Editor {
  actionHandlers = new Map();
  onEscape;
  onCtrlD;
  onPasteImage;
  onExtensionShortcut;
  #keys;
  constructor(tui, theme, keybindings, options) {
    super(tui, theme, options ?? {});
    this.#keys = keybindings ?? getKeybindings();
  }
  onAction(action, handler) {
    this.actionHandlers.set(action, handler);
  }
  #perform(action) {
    const handler = this.actionHandlers.get(action) ?? this.actionHandlers.get(`app.${action}`);
    if (handler) handler();
    else ask("ui.editorAction", { action });
  }
  handleInput(data) {
    if (this.onExtensionShortcut?.(data)) return;
    if (this.#keys.matches(data, "pasteImage") && this.onPasteImage) return void this.onPasteImage();
    if (this.#keys.matches(data, "interrupt") && !this.isShowingAutocomplete()) {
      if (this.onEscape) this.onEscape();
      else this.#perform("interrupt");
      return;
    }
    if (this.#keys.matches(data, "exit") && this.getText() === "") {
      if (this.onCtrlD) this.onCtrlD();
      else this.#perform("exit");
      return;
    }
    for (const action of APP_ACTIONS) {
      if (this.#keys.matches(data, action)) return this.#perform(action);
    }
    super.handleInput(data);
  }
}

/** The last lines that fit, as drawn at a width. */
export function truncateToVisualLines(text, maxVisualLines, width, paddingX = 0) {
  if (!text) return { visualLines: [], skippedCount: 0 };
  const lines = wrapTextWithAnsi(text, Math.max(1, width - 2 * paddingX)).map((line) => " ".repeat(paddingX) + line);
  if (lines.length <= maxVisualLines) return { visualLines: lines, skippedCount: 0 };
  return { visualLines: lines.slice(-maxVisualLines), skippedCount: lines.length - maxVisualLines };
}
