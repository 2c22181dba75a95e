// SelectList and SettingsList: lists the person moves through with the keys of the host.

import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from "./ansi.js";
import { fuzzyFilter } from "./fuzzy.js";
import { Input } from "./input.js";
import { getKeybindings } from "./keybindings.js";

/** The part of a list that shows `visible` rows around the selected one. */
export function windowOf(total, selected, visible) {
  const start = Math.max(0, Math.min(selected - Math.floor(visible / 2), total - visible));
  return { start, end: Math.min(start + visible, total) };
}

const oneLine = (text) => String(text).replace(/[\r\n]+/g, " ").trim();

export class SelectList {
  onSelect;
  onCancel;
  onSelectionChange;
  #items;
  #shown;
  #selected = 0;
  #visible;
  #theme;
  #layout;
  constructor(items, maxVisible, theme, layout = {}) {
    this.#items = items;
    this.#shown = items;
    this.#visible = maxVisible;
    this.#theme = theme;
    this.#layout = layout;
  }
  setFilter(filter) {
    const prefix = filter.toLowerCase();
    this.#shown = this.#items.filter((item) => item.value.toLowerCase().startsWith(prefix));
    this.#selected = 0;
  }
  setSelectedIndex(index) {
    this.#selected = Math.max(0, Math.min(index, this.#shown.length - 1));
  }
  getSelectedItem() {
    return this.#shown[this.#selected] ?? null;
  }
  invalidate() {}

  render(width) {
    const theme = this.#theme;
    if (this.#shown.length === 0) return [theme.noMatch("  No matching commands")];
    const { start, end } = windowOf(this.#shown.length, this.#selected, this.#visible);
    const { maxPrimaryColumnWidth: most = 32, minPrimaryColumnWidth: least = most } = this.#layout;
    const longest = Math.max(...this.#shown.map((item) => visibleWidth(oneLine(item.label || item.value)))) + 2;
    const column = Math.max(least, Math.min(most, longest));
    const lines = [];
    for (let i = start; i < end; i++) {
      const item = this.#shown[i];
      const selected = i === this.#selected;
      const label = oneLine(item.label || item.value);
      const note = item.description ? oneLine(item.description) : "";
      const marker = selected ? "→ " : "  ";
      let text;
      if (note && width > 40) {
        const cut = truncateToWidth(label, Math.min(column, width - 4) - 2, "");
        const space = " ".repeat(Math.max(1, column - visibleWidth(cut)));
        const room = width - 2 - visibleWidth(cut) - space.length - 2;
        const shown = room > 10 ? truncateToWidth(note, room, "") : "";
        if (shown) {
          lines.push(selected ? theme.selectedText(`${marker}${cut}${space}${shown}`) : `${marker}${cut}${theme.description(space + shown)}`);
          continue;
        }
      }
      text = marker + truncateToWidth(label, Math.max(1, width - 4), "");
      lines.push(selected ? theme.selectedText(text) : text);
    }
    if (start > 0 || end < this.#shown.length) lines.push(theme.scrollInfo(truncateToWidth(`  (${this.#selected + 1}/${this.#shown.length})`, width - 2, "")));
    return lines;
  }

  handleInput(data) {
    const keys = getKeybindings();
    const count = this.#shown.length;
    const move = (to) => {
      if (count === 0) return;
      this.#selected = (to + count) % count;
      this.onSelectionChange?.(this.#shown[this.#selected]);
    };
    if (keys.matches(data, "selectUp")) move(this.#selected - 1);
    else if (keys.matches(data, "selectDown")) move(this.#selected + 1);
    else if (keys.matches(data, "selectPageUp")) move(Math.max(0, this.#selected - this.#visible));
    else if (keys.matches(data, "selectPageDown")) move(Math.min(count - 1, this.#selected + this.#visible));
    else if (keys.matches(data, "selectConfirm")) {
      const item = this.getSelectedItem();
      if (item) this.onSelect?.(item);
    } else if (keys.matches(data, "selectCancel")) this.onCancel?.();
  }
}

export class SettingsList {
  #items;
  #shown;
  #selected = 0;
  #visible;
  #theme;
  #onChange;
  #onCancel;
  #search;
  #submenu;
  constructor(items, maxVisible, theme, onChange, onCancel, options = {}) {
    this.#items = items;
    this.#shown = items;
    this.#visible = maxVisible;
    this.#theme = theme;
    this.#onChange = onChange;
    this.#onCancel = onCancel;
    if (options.enableSearch) this.#search = new Input();
  }
  updateValue(id, value) {
    const item = this.#items.find((entry) => entry.id === id);
    if (item) item.currentValue = value;
  }
  invalidate() {
    this.#submenu?.component.invalidate?.();
  }

  render(width) {
    if (this.#submenu) return this.#submenu.component.render(width);
    const theme = this.#theme;
    const lines = this.#search ? [...this.#search.render(width), ""] : [];
    if (this.#shown.length === 0) {
      lines.push(theme.hint(this.#items.length === 0 ? "  No settings available" : "  No matching settings"));
      return [...lines, "", this.#hint(width)];
    }
    const { start, end } = windowOf(this.#shown.length, this.#selected, this.#visible);
    const column = Math.min(30, Math.max(...this.#items.map((item) => visibleWidth(item.label))));
    for (let i = start; i < end; i++) {
      const item = this.#shown[i];
      const selected = i === this.#selected;
      const marker = selected ? theme.cursor : "  ";
      const label = item.label + " ".repeat(Math.max(0, column - visibleWidth(item.label)));
      const room = Math.max(1, width - visibleWidth(marker) - visibleWidth(label) - 4);
      const row = `${marker}${theme.label(label, selected)}  ${theme.value(truncateToWidth(item.currentValue, room, ""), selected)}`;
      lines.push(truncateToWidth(row, width));
    }
    if (start > 0 || end < this.#shown.length) lines.push(theme.hint(truncateToWidth(`  (${this.#selected + 1}/${this.#shown.length})`, width - 2, "")));
    const note = this.#shown[this.#selected]?.description;
    if (note) lines.push("", ...wrapTextWithAnsi(note, Math.max(1, width - 4)).map((line) => theme.description(`  ${line}`)));
    return [...lines, "", this.#hint(width)];
  }
  #hint(width) {
    return truncateToWidth(this.#theme.hint(this.#search ? "  Type to search · Enter/Space to change · Esc to cancel" : "  Enter/Space to change · Esc to cancel"), width);
  }

  handleInput(data) {
    if (this.#submenu) {
      this.#submenu.component.handleInput?.(data);
      return;
    }
    const keys = getKeybindings();
    const count = this.#shown.length;
    if (keys.matches(data, "selectUp")) this.#selected = count ? (this.#selected - 1 + count) % count : 0;
    else if (keys.matches(data, "selectDown")) this.#selected = count ? (this.#selected + 1) % count : 0;
    else if (keys.matches(data, "selectConfirm") || (data === " " && !this.#search?.getValue())) this.#activate();
    else if (keys.matches(data, "selectCancel")) this.#onCancel?.();
    else if (this.#search) {
      this.#search.handleInput(data);
      this.#shown = fuzzyFilter(this.#items, this.#search.getValue(), (item) => item.label);
      this.#selected = 0;
    }
  }
  #activate() {
    const item = this.#shown[this.#selected];
    if (!item) return;
    if (item.submenu) {
      const done = (value) => {
        this.#submenu = undefined;
        if (value !== undefined) this.#set(item, value);
      };
      this.#submenu = { component: item.submenu(item.currentValue, done) };
    } else if (item.values?.length) this.#set(item, item.values[(item.values.indexOf(item.currentValue) + 1) % item.values.length]);
  }
  #set(item, value) {
    item.currentValue = value;
    this.#onChange?.(item.id, value);
  }
}
