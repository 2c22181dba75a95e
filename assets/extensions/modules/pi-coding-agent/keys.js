// Hints that name the key of an action.

import { theme } from "../../host/theme.js";
import { getKeybindings } from "../pi-tui/keybindings.js";

/** The keys of an action, as text; the second argument of either order may be the keybindings. */
export function keyText(action, other) {
  const [name, keys] = typeof action === "string" ? [action, other?.getKeys ? other : getKeybindings()] : [other, action];
  return keys.getKeys(name).join("/");
}
export const editorKey = (action) => keyText(action);
export const appKey = (keybindings, action) => keyText(keybindings, action);
export const rawKeyHint = (key, description) => theme.fg("dim", key) + theme.fg("muted", ` ${description}`);
export const keyHint = (action, description) => rawKeyHint(keyText(action), description);
export const appKeyHint = (keybindings, action, description) => rawKeyHint(keyText(keybindings, action), description);
