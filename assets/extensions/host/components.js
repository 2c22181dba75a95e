// Components of extensions on the host's screen: a number for each, drawn and fed by the host.
//
// The host asks for lines at a width and gets lines, whatever happens: a component that throws is
// charged and draws a line that says so. Lines are cut to the width, so that one component cannot
// spoil the screen.

import { ask } from "../runtime/bridge.js";
import { plain } from "../runtime/clone.js";
import { isFocusable } from "../modules/pi-tui/basic.js";
import { truncateToWidth } from "../modules/pi-tui/ansi.js";
import { isKeyRelease } from "../modules/pi-tui/keys.js";
import { TUI } from "../modules/pi-tui/tui.js";
import { attemptNow } from "./registry.js";

const MAX_LINES = 2000;
const mounted = new Map();
let nextId = 1;

const attachScreen = TUI.attachScreen;
delete TUI.attachScreen;

/** Makes a place on the screen: a number and the `tui` that goes with it. */
export function reserve(extension, kind) {
  const id = nextId++;
  const place = { id, extension, kind, component: undefined, options: undefined, hidden: false, close: undefined };
  place.tui = attachScreen(new TUI(), {
    redraw: (force) => {
      if (mounted.has(id)) ask("ui.redraw", { component: id, force });
    },
    overlay: (component, options) => openOverlay(extension, component, options),
  });
  return place;
}

export function mount(place, component) {
  if (!component || typeof component.render !== "function") throw new TypeError("a component needs a render function");
  place.component = component;
  mounted.set(place.id, place);
  place.tui.children = [component];
  return place.id;
}

export function unmount(id) {
  const place = mounted.get(id);
  if (!place) return;
  mounted.delete(id);
  attemptNow(place.extension, "dispose", () => place.component.dispose?.());
}

function openOverlay(extension, component, options) {
  const place = reserve(extension, "overlay");
  place.options = options;
  mount(place, component);
  if (isFocusable(component)) component.focused = true;
  openPlace(place);
  return handleOf(place);
}

/** What an overlay's owner steers it with. */
export function handleOf(place) {
  let focused = true;
  const tell = (name, args) => {
    if (mounted.has(place.id)) ask(name, { component: place.id, ...args });
  };
  return {
    hide: () => {
      tell("ui.close");
      unmount(place.id);
      place.hidden = true;
    },
    setHidden: (hidden) => {
      place.hidden = Boolean(hidden);
      tell("ui.setHidden", { hidden: place.hidden });
    },
    isHidden: () => place.hidden,
    focus: () => {
      focused = true;
      tell("ui.focus", { focused });
    },
    unfocus: () => {
      focused = false;
      tell("ui.focus", { focused });
    },
    isFocused: () => focused && mounted.has(place.id),
  };
}

/** Overlay options as plain data for a screen of this size; `visible` is answered, not passed. */
function optionsOf(place, columns, rows) {
  const given = typeof place.options === "function" ? place.options() : place.options;
  if (!given) return undefined;
  const { visible, ...rest } = given;
  const size = columns === undefined ? ask("terminal.size") ?? { columns: 80, rows: 24 } : { columns, rows };
  return { ...plain(rest), visible: typeof visible === "function" ? Boolean(visible(size.columns, size.rows)) : true };
}

export const placeOptions = (id, columns, rows) => {
  const place = mounted.get(id);
  return place && attemptNow(place.extension, "overlay", () => optionsOf(place, columns, rows), undefined);
};

export const openPlace = (place, args) => ask("ui.open", { component: place.id, kind: place.kind, options: optionsOf(place), ...args });

/** Lines of a component at a width, cut and bounded; one that fails has a line that says so. */
export function drawComponent(extension, component, width, event = "render") {
  const failed = [`[${extension.path.split("/").at(-1)}: drawing failed]`];
  return attemptNow(extension, event, () => linesAt(component, width), undefined) ?? failed.map((line) => cutLine(line, width));
}

/** The same, for whoever catches what it throws. */
export function linesAt(component, width) {
  const drawn = component.render(width);
  if (!Array.isArray(drawn)) throw new TypeError("render must return an array of lines");
  const list = drawn.length > MAX_LINES ? drawn.slice(0, MAX_LINES) : drawn;
  return list.map((line) => cutLine(String(line), width));
}

const cutLine = (line, width) => truncateToWidth(/[\n\r]/.test(line) ? line.replace(/[\n\r]+/g, " ") : line, width, "");

export function renderPlace(id, width) {
  const place = mounted.get(id);
  return place ? drawComponent(place.extension, place.component, width) : [];
}

/** Hands input to the component that has the focus. Key releases only go to who wants them. */
export function inputPlace(id, data) {
  const place = mounted.get(id);
  if (!place) return false;
  return attemptNow(place.extension, "input", () => {
    const passed = place.tui.filterInput(data);
    if (passed === undefined) return true;
    const target = place.tui.focusedComponent ?? place.component;
    if (isKeyRelease(passed) && !target.wantsKeyRelease) return false;
    if (typeof target.handleInput !== "function") return false;
    target.handleInput(passed);
    tellText(place);
    ask("ui.redraw", { component: id, force: false });
    return true;
  }, false);
}

/** What an editor holds, for whoever counts and sends it: not every editor tells of its changes. */
function tellText({ kind, component }) {
  if (kind === "editor" && typeof component.getText === "function") ask("ui.setEditorText", { text: String(component.getText()), from: "component" });
}

/** The text of an editor is this from here on. */
export function writePlace(id, text) {
  const place = mounted.get(id);
  if (!place) return;
  attemptNow(place.extension, "editor text", () => place.component.setText?.(text));
  tellText(place);
  ask("ui.redraw", { component: id, force: false });
}

export function focusPlace(id, focused) {
  const place = mounted.get(id);
  if (place && isFocusable(place.component)) place.component.focused = Boolean(focused);
}

export function invalidatePlace(id) {
  const place = mounted.get(id);
  if (place) attemptNow(place.extension, "invalidate", () => place.component.invalidate?.());
}

/** The host took the component off the screen (session over, print mode). */
export function closePlace(id) {
  const place = mounted.get(id);
  if (!place) return;
  if (place.close) attemptNow(place.extension, "close", place.close);
  else unmount(id);
}

/** Has the host draw again what stands in these places. */
export function redrawAll(kind) {
  for (const place of mounted.values()) if (place.kind === kind) ask("ui.redraw", { component: place.id, force: false });
}

export const componentAt = (id) => mounted.get(id)?.component;

export function closeAllOf(extension) {
  for (const place of [...mounted.values()]) if (!extension || place.extension === extension) closePlace(place.id);
}
