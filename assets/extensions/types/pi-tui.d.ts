// Types of the `pi-tui` package: components that draw themselves as lines of text.

/** No line may be wider than `width`; styles do not carry over to the next line. */
export interface Component {
  render(width: number): string[];
  handleInput?(data: string): void;
  /** Ask for key releases too, where the terminal reports them. */
  wantsKeyRelease?: boolean;
  /** Drop what was cached: the theme or the size changed. */
  invalidate(): void;
}
export interface Focusable {
  focused: boolean;
}
export interface OverlayOptions {
  width?: number | `${number}%`;
  minWidth?: number;
  maxHeight?: number | `${number}%`;
  anchor?: "center" | "top-left" | "top-right" | "bottom-left" | "bottom-right" | "top-center" | "bottom-center" | "left-center" | "right-center";
  offsetX?: number;
  offsetY?: number;
  row?: number | `${number}%`;
  col?: number | `${number}%`;
  margin?: number | { top?: number; right?: number; bottom?: number; left?: number };
  visible?(columns: number, rows: number): boolean;
  nonCapturing?: boolean;
}
export type OverlayAnchor = NonNullable<OverlayOptions["anchor"]>;
export interface OverlayHandle {
  hide(): void;
  setHidden(hidden: boolean): void;
  isHidden(): boolean;
  focus(): void;
  unfocus(): void;
  isFocused(): boolean;
}
export declare class Container implements Component {
  children: Component[];
  addChild(component: Component): void;
  removeChild(component: Component): void;
  clear(): void;
  invalidate(): void;
  render(width: number): string[];
}
export declare class TUI extends Container {
  terminal: { readonly columns: number; readonly rows: number; write(data: string): void };
  requestRender(force?: boolean): void;
  setFocus(component: Component | null): void;
  showOverlay(component: Component, options?: OverlayOptions): OverlayHandle;
  hideOverlay(): void;
  hasOverlay(): boolean;
  start(): void;
  stop(): void;
}
export declare class Text implements Component {
  constructor(text?: string, paddingX?: number, paddingY?: number, customBgFn?: (text: string) => string);
  setText(text: string): void;
  invalidate(): void;
  render(width: number): string[];
}
export declare class TruncatedText implements Component {
  constructor(text: string, paddingX?: number, paddingY?: number);
  invalidate(): void;
  render(width: number): string[];
}
export declare class Box extends Container {
  constructor(paddingX?: number, paddingY?: number, bgFn?: (text: string) => string);
  setBgFn(bgFn?: (text: string) => string): void;
}
export declare class Spacer implements Component {
  constructor(lines?: number);
  invalidate(): void;
  render(width: number): string[];
}
type Style = (text: string) => string;
export interface MarkdownTheme {
  heading: Style;
  link: Style;
  linkUrl: Style;
  code: Style;
  codeBlock: Style;
  codeBlockBorder: Style;
  quote: Style;
  quoteBorder: Style;
  hr: Style;
  listBullet: Style;
  bold: Style;
  italic: Style;
  strikethrough: Style;
  underline: Style;
  highlightCode?(code: string, language?: string): string[];
}
export declare class Markdown implements Component {
  constructor(text: string, paddingX: number, paddingY: number, theme: MarkdownTheme, defaultTextStyle?: { color?: Style; bgColor?: Style; bold?: boolean; italic?: boolean });
  setText(text: string): void;
  invalidate(): void;
  render(width: number): string[];
}
export interface SelectItem {
  value: string;
  label: string;
  description?: string;
}
export interface SelectListTheme {
  selectedPrefix: Style;
  selectedText: Style;
  description: Style;
  scrollInfo: Style;
  noMatch: Style;
}
export declare class SelectList implements Component {
  onSelect?: (item: SelectItem) => void;
  onCancel?: () => void;
  onSelectionChange?: (item: SelectItem) => void;
  constructor(items: SelectItem[], maxVisible: number, theme: SelectListTheme);
  setFilter(prefix: string): void;
  setSelectedIndex(index: number): void;
  getSelectedItem(): SelectItem | null;
  handleInput(data: string): void;
  invalidate(): void;
  render(width: number): string[];
}
export interface SettingItem {
  id: string;
  label: string;
  description?: string;
  currentValue: string;
  values?: string[];
  submenu?(currentValue: string, done: (value?: string) => void): Component;
}
export interface SettingsListTheme {
  label(text: string, selected: boolean): string;
  value(text: string, selected: boolean): string;
  description: Style;
  cursor: string;
  hint: Style;
}
export declare class SettingsList implements Component {
  constructor(items: SettingItem[], maxVisible: number, theme: SettingsListTheme, onChange: (id: string, value: string) => void, onCancel: () => void, options?: { enableSearch?: boolean });
  updateValue(id: string, value: string): void;
  handleInput(data: string): void;
  invalidate(): void;
  render(width: number): string[];
}
export declare class Input implements Component, Focusable {
  focused: boolean;
  onSubmit?: (value: string) => void;
  onEscape?: () => void;
  getValue(): string;
  setValue(value: string): void;
  handleInput(data: string): void;
  invalidate(): void;
  render(width: number): string[];
}
export interface EditorTheme {
  borderColor: Style;
  selectList: SelectListTheme;
}
export declare class Editor implements Component, Focusable {
  focused: boolean;
  borderColor: Style;
  disableSubmit: boolean;
  protected tui: TUI;
  onSubmit?: (text: string) => void;
  onChange?: (text: string) => void;
  constructor(tui: TUI, theme: EditorTheme, options?: { paddingX?: number; autocompleteMaxVisible?: number });
  getText(): string;
  setText(text: string): void;
  insertTextAtCursor(text: string): void;
  getLines(): string[];
  getCursor(): { line: number; col: number };
  addToHistory(text: string): void;
  isShowingAutocomplete(): boolean;
  handleInput(data: string): void;
  invalidate(): void;
  render(width: number): string[];
}
export declare class Loader extends Text {
  constructor(tui: TUI, spinnerColor: Style, messageColor: Style, message?: string);
  start(): void;
  stop(): void;
  setMessage(message: string): void;
}
export declare class CancellableLoader extends Loader {
  onAbort?: () => void;
  readonly signal: AbortSignal;
  readonly aborted: boolean;
  handleInput(data: string): void;
  dispose(): void;
}
export declare class Image implements Component {
  constructor(base64Data: string, mimeType: string, theme: { fallbackColor: Style }, options?: { maxWidthCells?: number; filename?: string });
  invalidate(): void;
  render(width: number): string[];
}
export declare class KeybindingsManager {
  matches(data: string, action: string): boolean;
  getKeys(action: string): KeyId[];
}

/** `ctrl+`, `shift+`, `alt+`, `super+` in any order before a key: `ctrl+shift+p`, `pageUp`, `?`. */
export type KeyId = string;
type KeyNames =
  | "escape" | "esc" | "enter" | "return" | "tab" | "space" | "backspace" | "delete" | "insert" | "clear" | "home" | "end" | "pageUp" | "pageDown" | "up" | "down" | "left"
  | "right" | "f1" | "f2" | "f3" | "f4" | "f5" | "f6" | "f7" | "f8" | "f9" | "f10" | "f11" | "f12" | "backtick" | "hyphen" | "equals" | "slash" | "comma" | "period" | "question";
type KeyBuilders = "ctrl" | "shift" | "alt" | "super" | "ctrlShift" | "shiftCtrl" | "ctrlAlt" | "altCtrl" | "shiftAlt" | "altShift" | "ctrlShiftAlt";
export declare const Key: { readonly [K in KeyNames]: string } & { readonly [K in KeyBuilders]: (key: string) => string };
export declare function matchesKey(data: string, key: KeyId): boolean;
export declare function parseKey(data: string): string | undefined;
export declare function isKeyRelease(data: string): boolean;
export declare function isKeyRepeat(data: string): boolean;
export declare function visibleWidth(text: string): number;
export declare function truncateToWidth(text: string, width: number, ellipsis?: string, pad?: boolean): string;
export declare function wrapTextWithAnsi(text: string, width: number): string[];
export declare function fuzzyMatch(query: string, text: string): { matches: boolean; score: number };
export declare function fuzzyFilter<T>(items: T[], query: string, getText: (item: T) => string): T[];
/** Marks where the terminal's own cursor belongs; takes no cell. */
export declare const CURSOR_MARKER: string;
