// Markdown: headings, lists, quotes, code, rules, tables, and the inline marks, drawn with a theme.
//
// A reader of its own for the parts that models write; anything it does not know stays as text.

import { padLine, applyBackgroundToLine, visibleWidth, wrapTextWithAnsi } from "./ansi.js";

const INLINE = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*\*([^\s*](?:[\s\S]*?[^\s*])?)\*\*\*|\*\*([^\s*](?:[\s\S]*?[^\s])?)\*\*|__([^\s_](?:[\s\S]*?[^\s])?)__|\*([^\s*](?:[\s\S]*?[^\s*])?)\*|(?<![\w_])_([^\s_](?:[\s\S]*?[^\s_])?)_(?![\w_])|~~([\s\S]+?)~~|!?\[([^\]]*)\]\(([^)\s]+)(?:\s+"[^"]*")?\)|<(https?:\/\/[^>\s]+)>|(https?:\/\/[^\s<>()]*[^\s<>().,;:!?'\"*_])|\\([\\`*_{}[\]()#+\-.!~|>])/g;

export class Markdown {
  #text;
  #padX;
  #padY;
  #theme;
  #base;
  #cache;
  constructor(text, paddingX = 0, paddingY = 0, theme, defaultTextStyle) {
    this.#text = text;
    this.#padX = paddingX;
    this.#padY = paddingY;
    this.#theme = theme;
    this.#base = defaultTextStyle;
  }
  setText(text) {
    this.#text = text;
    this.#cache = undefined;
  }
  invalidate() {
    this.#cache = undefined;
  }

  render(width) {
    if (this.#cache?.width === width) return this.#cache.lines;
    const text = String(this.#text ?? "").replaceAll("\t", "   ");
    let lines = [];
    if (text.trim() !== "") {
      const inner = Math.max(1, width - 2 * this.#padX);
      const side = " ".repeat(this.#padX);
      const body = this.#blocks(text.split("\n"), inner).flatMap((line) => (line.raw !== undefined ? [line.raw] : wrapTextWithAnsi(line, inner)));
      const finish = (line) => (this.#base?.bgColor ? applyBackgroundToLine(line, width, this.#base.bgColor) : padLine(line, width));
      const blank = Array.from({ length: this.#padY }, () => finish(""));
      lines = [...blank, ...body.map((line) => finish(side + line + side)), ...blank];
    }
    this.#cache = { width, lines };
    return lines;
  }

  #plain(text) {
    const base = this.#base;
    if (!base || text === "") return text;
    let styled = text;
    if (base.bold) styled = this.#theme.bold(styled);
    if (base.italic) styled = this.#theme.italic(styled);
    if (base.strikethrough) styled = this.#theme.strikethrough(styled);
    if (base.underline) styled = this.#theme.underline(styled);
    return base.color ? base.color(styled) : styled;
  }

  #inline(text, plain = (part) => this.#plain(part)) {
    const theme = this.#theme;
    let out = "";
    let at = 0;
    for (const match of text.matchAll(INLINE)) {
      out += plain(text.slice(at, match.index));
      at = match.index + match[0].length;
      const [whole, , code, both, bold1, bold2, italic1, italic2, strike, label, target, quoted, bare, escaped] = match;
      const address = quoted ?? bare;
      const inside = (part, style) => style(this.#inline(part, plain));
      if (code !== undefined) out += theme.code(code.trim() || code);
      else if (both) out += inside(both, (part) => theme.italic(theme.bold(part)));
      else if (bold1 ?? bold2) out += inside(bold1 ?? bold2, theme.bold);
      else if (italic1 ?? italic2) out += inside(italic1 ?? italic2, theme.italic);
      else if (strike) out += inside(strike, theme.strikethrough);
      else if (target !== undefined) {
        const shown = label || target;
        out += theme.link(theme.underline(shown)) + (shown === target ? "" : theme.linkUrl(` (${target})`));
      } else if (address) out += theme.link(theme.underline(address));
      else if (escaped) out += plain(escaped);
      else out += plain(whole);
    }
    return out + plain(text.slice(at));
  }

  #blocks(lines, width) {
    const theme = this.#theme;
    const out = [];
    const gap = () => {
      if (out.length > 0 && out.at(-1) !== "") out.push("");
    };
    let paragraph = [];
    const endParagraph = () => {
      if (paragraph.length > 0) out.push(...paragraph.map((line) => this.#inline(line)));
      paragraph = [];
    };
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i];
      const fence = /^(\s*)(`{3,}|~{3,})\s*(\S*)/.exec(line);
      if (fence) {
        endParagraph();
        gap();
        const code = [];
        for (i++; i < lines.length && !lines[i].trim().startsWith(fence[2]); i++) code.push(lines[i].startsWith(fence[1]) ? lines[i].slice(fence[1].length) : lines[i]);
        out.push(...this.#code(code.join("\n"), fence[3]));
        if (i + 1 < lines.length && lines[i + 1].trim() !== "") out.push("");
        continue;
      }
      const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
      if (heading) {
        endParagraph();
        gap();
        const level = heading[1].length;
        const text = this.#inline(heading[2], (part) => part);
        const title = level <= 2 ? theme.bold(text) : theme.bold(`${heading[1]} ${text}`);
        out.push(theme.heading(level === 1 ? theme.bold(theme.underline(text)) : title));
        if (i + 1 < lines.length && lines[i + 1].trim() !== "") out.push("");
        continue;
      }
      if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
        endParagraph();
        gap();
        out.push(theme.hr("─".repeat(Math.min(width, 80))));
        continue;
      }
      if (/^\s*>/.test(line)) {
        endParagraph();
        gap();
        const inner = [];
        for (; i < lines.length && /^\s*>/.test(lines[i]); i++) inner.push(lines[i].replace(/^\s*> ?/, ""));
        i--;
        for (const row of this.#blocks(inner, width - 2).flatMap((item) => (item.raw !== undefined ? [item.raw] : wrapTextWithAnsi(item, Math.max(1, width - 2))))) {
          out.push({ raw: theme.quoteBorder("│ ") + theme.quote(theme.italic(row)) });
        }
        continue;
      }
      const item = /^(\s*)([-*+]|\d+[.)])\s+(.*)$/.exec(line);
      if (item) {
        endParagraph();
        // Two or three columns in the source are one level, which is drawn as four.
        const indent = "    ".repeat(Math.min(Math.ceil(item[1].length / 3), 8));
        const bullet = /\d/.test(item[2]) ? `${item[2].slice(0, -1)}. ` : "- ";
        const task = /^\[([ xX])\]\s+(.*)$/.exec(item[3]);
        const body = task ? `[${task[1]}] ${this.#inline(task[2])}` : this.#inline(item[3]);
        const hang = indent.length + bullet.length;
        wrapTextWithAnsi(body, Math.max(1, width - hang)).forEach((row, n) => {
          out.push({ raw: n === 0 ? indent + theme.listBullet(bullet) + row : " ".repeat(hang) + row });
        });
        continue;
      }
      if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] ?? "") && (lines[i + 1] ?? "").includes("-")) {
        endParagraph();
        gap();
        const rows = [line];
        for (i += 2; i < lines.length && lines[i].includes("|"); i++) rows.push(lines[i]);
        i--;
        out.push(...this.#table(rows, width));
        continue;
      }
      if (line.trim() === "") {
        endParagraph();
        gap();
      } else paragraph.push(line);
    }
    endParagraph();
    while (out.at(-1) === "") out.pop();
    return out;
  }

  #code(code, language) {
    const theme = this.#theme;
    const indent = theme.codeBlockIndent ?? "  ";
    let rows;
    try {
      rows = theme.highlightCode?.(code, language || undefined);
    } catch {
      rows = undefined;
    }
    rows ??= code.split("\n").map((row) => theme.codeBlock(row));
    return [theme.codeBlockBorder(`\`\`\`${language}`), ...rows.map((row) => indent + row), theme.codeBlockBorder("```")];
  }

  #table(rows, width) {
    const cells = rows.map((row) => row.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => this.#inline(cell.trim().replaceAll("\\|", "|"))));
    const count = Math.max(...cells.map((row) => row.length));
    const widths = Array.from({ length: count }, (_, c) => Math.max(1, ...cells.map((row) => visibleWidth(row[c] ?? ""))));
    const frameWidth = 3 * count + 1;
    const total = () => widths.reduce((sum, size) => sum + size, 0);
    if (width < frameWidth + count) return rows;
    while (total() + frameWidth > width) widths[widths.indexOf(Math.max(...widths))]--;
    const rule = (left, middle, right) => left + widths.map((size) => "─".repeat(size + 2)).join(middle) + right;
    const out = [{ raw: rule("┌", "┬", "┐") }];
    cells.forEach((row, r) => {
      const wrapped = widths.map((size, c) => wrapTextWithAnsi(row[c] ?? "", size));
      for (let n = 0; n < Math.max(...wrapped.map((part) => part.length)); n++) {
        const parts = wrapped.map((part, c) => padLine(r === 0 ? this.#theme.bold(part[n] ?? "") : part[n] ?? "", widths[c]));
        out.push({ raw: `│ ${parts.join(" │ ")} │` });
      }
      out.push({ raw: r === cells.length - 1 ? rule("└", "┴", "┘") : rule("├", "┼", "┤") });
    });
    return out;
  }
}
