// ctx.ui: dialogs, notices, status lines, widgets and components of one extension.
//
// Everything plain goes to the host by name; components stay here and get a number. Without a screen
// the host answers dialogs with nothing, which is what extensions expect in print mode.

import { ask, dialog } from "../runtime/bridge.js";
import { plain } from "../runtime/clone.js";
import { getKeybindings } from "../modules/pi-tui/keybindings.js";
import { handleOf, mount, openPlace, redrawAll, reserve, unmount } from "./components.js";
import { namedTheme, theme, themeChanged } from "./theme.js";
import { attemptNow } from "./registry.js";

const inputListeners = new Set();
const branchListeners = new Set();

/** Raw terminal input, offered to every listener; undefined when one of them took it. */
export function terminalInput(data) {
  let current = data;
  for (const { extension, listener } of inputListeners) {
    const answer = attemptNow(extension, "terminal input", () => listener(current), undefined);
    if (answer?.consume) return undefined;
    if (typeof answer?.data === "string") current = answer.data;
  }
  return current;
}

export function branchChanged() {
  for (const { extension, listener } of branchListeners) attemptNow(extension, "branch change", listener, undefined);
}

/** What extensions say in the status line. */
const statuses = new Map();

const footerData = (extension) => ({
  getGitBranch: () => ask("git.branch") ?? null,
  getExtensionStatuses: () => new Map(statuses),
  getAvailableProviderCount: () => ask("model.providerCount") ?? 0,
  onBranchChange: (listener) => {
    const entry = { extension, listener };
    branchListeners.add(entry);
    return () => branchListeners.delete(entry);
  },
});

// Questions to the person that are open, and what the outermost is.
let prompts = 0;
let prompt;
let tellPrompt;

/** Who is told that extensions begin and end asking the person. */
export const onPrompt = (tell) => void (tellPrompt = tell);

/** Runs something that waits for the person; of several at a time the first is told of, and the end of the last. */
async function prompting(kind, title, run) {
  if (!ask("ui.available")) return run();
  if (prompts++ === 0) {
    prompt = { reason: "ui_prompt", kind, ...(title ? { title: String(title) } : {}) };
    tellPrompt?.("ui_prompt_start", prompt);
  }
  try {
    return await run();
  } finally {
    if (--prompts === 0) tellPrompt?.("ui_prompt_end", prompt);
  }
}

/** An abort or a timeout answers as Escape does. */
async function askPerson(name, args, opts, otherwise) {
  try {
    const answer = await prompting(name, args.title, () => dialog(name, { ...args, timeout: opts?.timeout }, opts?.signal));
    return answer === null || answer === undefined ? otherwise : answer;
  } catch (error) {
    if (opts?.signal?.aborted || error?.code === "CANCELLED") return otherwise;
    throw error;
  }
}

export function makeUi(extension) {
  const slots = new Map();

  /** Fills a fixed place (header, footer, widget, editor) with a component, or empties it. */
  function fill(slot, kind, make, args) {
    const old = slots.get(slot);
    slots.delete(slot);
    if (old !== undefined) unmount(old);
    if (make === undefined || make === null) return void ask("ui.clear", { kind, slot, ...args });
    const place = reserve(extension, kind);
    const component = make(place.tui);
    if (!component) return void ask("ui.clear", { kind, slot, ...args });
    slots.set(slot, mount(place, component));
    openPlace(place, { slot, ...args });
  }

  const ui = {
    select: (title, options, opts) => askPerson("select", { title: String(title), options: [...options].map(String), allowMultiple: opts?.allowMultiple }, opts, undefined),
    confirm: async (title, message, opts) => Boolean(await askPerson("confirm", { title: String(title), message: String(message ?? "") }, opts, false)),
    input: (title, placeholder, opts) => askPerson("input", { title: String(title), placeholder }, opts, undefined),
    editor: (title, prefill, opts) => askPerson("editor", { title: String(title), prefill }, opts, undefined),
    notify: (message, type = "info") => void ask("ui.notify", { message: String(message), type }),
    setStatus(key, text) {
      ask("ui.setStatus", { key: String(key), text: text ?? null });
      if (text === undefined || text === null) statuses.delete(String(key));
      else statuses.set(String(key), String(text));
      redrawAll("footer");
    },
    setWorkingMessage: (message) => void ask("ui.setWorkingMessage", { message: message ?? null }),
    setWorkingVisible: (visible) => void ask("ui.setWorkingVisible", { visible: Boolean(visible) }),
    setWorkingIndicator: (options) => void ask("ui.setWorkingIndicator", { options: plain(options) ?? null }),
    setHiddenThinkingLabel: (label) => void ask("ui.setHiddenThinkingLabel", { label: label ?? null }),
    setTitle: (title) => void ask("ui.setTitle", { title: String(title) }),
    setWidget(key, content, options = {}) {
      const slot = `widget:${key}`;
      if (typeof content === "function") return fill(slot, "widget", (tui) => content(tui, theme), { key, placement: options.placement });
      fill(slot, "widget", undefined, { key });
      if (Array.isArray(content)) ask("ui.setWidget", { key, lines: content.map(String), placement: options.placement });
    },
    setHeader: (factory) => fill("header", "header", factory && ((tui) => factory(tui, theme))),
    setFooter: (factory) => fill("footer", "footer", factory && ((tui) => factory(tui, theme, footerData(extension)))),
    setEditorComponent(factory) {
      ui.editorFactory = factory;
      fill("editor", "editor", factory && ((tui) => wireEditor(factory(tui, editorTheme(), getKeybindings()))));
    },
    getEditorComponent: () => ui.editorFactory,
    addAutocompleteProvider(factory) {
      extension.autocompleters.push(factory);
      ask("registered", { kind: "autocomplete", name: "" });
    },
    pasteToEditor: (text) => void ask("ui.pasteToEditor", { text: String(text) }),
    setEditorText: (text) => void ask("ui.setEditorText", { text: String(text) }),
    getEditorText: () => ask("ui.editorText") ?? "",
    getToolsExpanded: () => Boolean(ask("ui.toolsExpanded")),
    setToolsExpanded: (expanded) => void ask("ui.setToolsExpanded", { expanded: Boolean(expanded) }),
    custom: (factory, options) => (ask("ui.available") ? prompting("custom", undefined, () => custom(extension, factory, options)) : Promise.resolve(undefined)),
    onTerminalInput(listener) {
      const entry = { extension, listener };
      inputListeners.add(entry);
      ask("ui.wantsInput", { count: inputListeners.size });
      return () => {
        inputListeners.delete(entry);
        ask("ui.wantsInput", { count: inputListeners.size });
      };
    },
    get theme() {
      return theme;
    },
    getAllThemes: () => ask("ui.themes") ?? [],
    getTheme: (name) => namedTheme(name),
    setTheme(value) {
      const name = typeof value === "string" ? value : value?.name;
      const answer = ask("ui.setTheme", { name }) ?? { success: false, error: "there is no screen" };
      themeChanged();
      return answer;
    },
  };
  Object.defineProperty(ui, "editorFactory", { value: undefined, writable: true, enumerable: false });
  return ui;
}

const selectListTheme = () => ({
  selectedPrefix: (text) => theme.fg("accent", text), selectedText: (text) => theme.fg("accent", text), description: (text) => theme.fg("muted", text),
  scrollInfo: (text) => theme.fg("muted", text), noMatch: (text) => theme.fg("muted", text),
});
export const editorTheme = () => ({ borderColor: (text) => theme.fg("borderMuted", text), selectList: selectListTheme() });

/** An editor in place of the host's: what it sends goes where the host's would. */
function wireEditor(editor) {
  if (!editor) return editor;
  editor.onSubmit ??= (text) => {
    editor.addToHistory?.(text);
    ask("ui.submit", { text });
  };
  editor.onChange ??= (text) => ask("ui.setEditorText", { text, from: "component" });
  editor.focused = true;
  return editor;
}

/** Puts a component on the screen until it calls `done`. The value stays here and need not be plain. */
function custom(extension, factory, options = {}) {
  const place = reserve(extension, options.overlay ? "overlay" : "custom");
  place.options = options.overlayOptions;
  return new Promise((resolve, reject) => {
    let finished = false;
    const done = (value) => {
      if (finished) return;
      finished = true;
      if (place.component) {
        ask("ui.close", { component: place.id });
        unmount(place.id);
      }
      resolve(value);
    };
    place.close = () => done(undefined);
    const open = (component) => {
      if (finished) {
        component?.dispose?.();
        return;
      }
      mount(place, component);
      if ("focused" in component) component.focused = true;
      openPlace(place);
      if (options.onHandle) options.onHandle(handleOf(place));
    };
    Promise.resolve()
      .then(() => factory(place.tui, theme, getKeybindings(), done))
      .then(open)
      .catch((error) => {
        finished = true;
        reject(error);
      });
  });
}

