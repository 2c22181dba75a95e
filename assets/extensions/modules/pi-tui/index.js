// The pi-tui module: every name that the published package exports.

export { applyBackgroundToLine, extractAnsiCode, sliceByColumn, sliceWithWidth, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "./ansi.js";
export { Box, CURSOR_MARKER, Container, Spacer, Text, TruncatedText, isFocusable } from "./basic.js";
export { CombinedAutocompleteProvider } from "./autocomplete.js";
export { Editor, wordWrapLine } from "./editor.js";
export { fuzzyFilter, fuzzyMatch } from "./fuzzy.js";
export {
  Image, allocateImageId, calculateImageRows, deleteAllKittyImages, deleteKittyImage, detectCapabilities, encodeITerm2, encodeKitty,
  getCapabilities, getCellDimensions, getGifDimensions, getImageDimensions, getJpegDimensions, getPngDimensions, getWebpDimensions, hyperlink,
  imageFallback, renderImage, resetCapabilitiesCache, setCapabilities, setCellDimensions,
} from "./image.js";
export { Input } from "./input.js";
export {
  DEFAULT_EDITOR_KEYBINDINGS, EditorKeybindingsManager, KeybindingsManager, TUI_KEYBINDINGS, getEditorKeybindings, getKeybindings,
  setEditorKeybindings, setKeybindings,
} from "./keybindings.js";
export { Key, decodeKittyPrintable, isKeyRelease, isKeyRepeat, isKittyProtocolActive, matchesKey, parseKey, setKittyProtocolActive } from "./keys.js";
export { CancellableLoader, Loader } from "./loader.js";
export { Markdown } from "./markdown.js";
export { SelectList, SettingsList } from "./select.js";
export { ProcessTerminal, StdinBuffer, TUI } from "./tui.js";
