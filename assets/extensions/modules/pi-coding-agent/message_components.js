// Components that show messages, calls and commands, for extensions that draw conversations of their own.

import { theme } from "../../host/theme.js";
import { Box, Container, Spacer, Text } from "../pi-tui/basic.js";
import { Markdown } from "../pi-tui/markdown.js";
import { keyText } from "./keys.js";
import { getMarkdownTheme } from "./themes.js";

const color = (role) => (text) => theme.fg(role, text);
const inFull = () => theme.fg("dim", keyText("app.tools.expand"));
const said = (content) => (typeof content === "string" ? content : (content ?? []).filter(({ type }) => type === "text").map(({ text }) => text).join("\n"));

export class UserMessageComponent extends Container {
  constructor(text, markdownTheme = getMarkdownTheme(), padding = 1) {
    super();
    const box = new Box(padding, 1, (line) => theme.bg("userMessageBg", line));
    box.addChild(new Markdown(text, 0, 0, markdownTheme, { color: color("userMessageText") }));
    this.addChild(box);
  }
}

export class AssistantMessageComponent extends Container {
  #message;
  #hidesThinking;
  #theme;
  #label;
  #padding;
  constructor(message, hideThinkingBlock = false, markdownTheme = getMarkdownTheme(), hiddenThinkingLabel = "Thinking...", padding = 1) {
    super();
    [this.#hidesThinking, this.#theme, this.#label, this.#padding] = [hideThinkingBlock, markdownTheme, hiddenThinkingLabel, padding];
    if (message) this.updateContent(message);
  }
  setHideThinkingBlock(hides) {
    this.#hidesThinking = hides;
    this.invalidate();
  }
  setHiddenThinkingLabel(label) {
    this.#label = label;
    this.invalidate();
  }
  invalidate() {
    super.invalidate();
    if (this.#message) this.updateContent(this.#message);
  }
  updateContent(message) {
    this.#message = message;
    this.clear();
    const shown = message.content.filter((block) => (block.text ?? block.thinking ?? "").trim() && ["text", "thinking"].includes(block.type));
    if (shown.length > 0) this.addChild(new Spacer(1));
    for (const block of shown) {
      this.addChild(this.#shown(block));
      if (block.type === "thinking" && block !== shown.at(-1)) this.addChild(new Spacer(1));
    }
    const { stopReason, errorMessage } = message;
    const isCall = message.content.some(({ type }) => type === "toolCall");
    if (isCall || !["aborted", "error"].includes(stopReason)) return;
    const why = errorMessage === "Request was aborted" ? undefined : errorMessage;
    this.addChild(new Spacer(1));
    this.addChild(new Text(theme.fg("error", stopReason === "error" ? `Error: ${errorMessage || "Unknown error"}` : why || "Operation aborted"), this.#padding, 0));
  }
  #shown({ type, text, thinking }) {
    if (type === "text") return new Markdown(text.trim(), this.#padding, 0, this.#theme);
    if (this.#hidesThinking) return new Text(theme.italic(theme.fg("thinkingText", this.#label)), this.#padding, 0);
    return new Markdown(thinking.trim(), this.#padding, 0, this.#theme, { color: color("thinkingText"), italic: true });
  }
}

/** A box whose content is made anew when it is unfolded or folded, or the theme changed. */
class Note extends Box {
  #isOpen = false;
  constructor() {
    super(1, 1, (line) => theme.bg("customMessageBg", line));
  }
  setExpanded(isOpen) {
    this.#isOpen = isOpen;
    this.show();
  }
  invalidate() {
    super.invalidate();
    this.show();
  }
  show() {
    this.clear();
    for (const part of this.parts(this.#isOpen)) this.addChild(part);
  }
}
const label = (word) => theme.fg("customMessageLabel", theme.bold(`[${word}]`));
const prose = (text, markdownTheme) => new Markdown(text, 0, 0, markdownTheme, { color: color("customMessageText") });

/** One with a title, whose summary is shown when it is open. */
const summary = (word, title, folded) =>
  class extends Note {
    #message;
    #theme;
    constructor(message, markdownTheme = getMarkdownTheme()) {
      super();
      [this.#message, this.#theme] = [message, markdownTheme];
      this.show();
    }
    parts(isOpen) {
      const message = this.#message;
      const text = color("customMessageText");
      const body = isOpen ? prose(`**${title(message)}**\n\n${message.summary}`, this.#theme) : new Text(text(`${folded(message)} (`) + inFull() + text(" to expand)"), 0, 0);
      return [new Text(label(word), 0, 0), new Spacer(1), body];
    }
  };
const compacted = ({ tokensBefore }) => `Compacted from ${Number(tokensBefore).toLocaleString()} tokens`;
export const CompactionSummaryMessageComponent = summary("compaction", compacted, compacted);
export const BranchSummaryMessageComponent = summary("branch", () => "Branch Summary", () => "Branch summary");

export class SkillInvocationMessageComponent extends Note {
  #skill;
  #theme;
  constructor(skill, markdownTheme = getMarkdownTheme()) {
    super();
    [this.#skill, this.#theme] = [skill, markdownTheme];
    this.show();
  }
  parts(isOpen) {
    const { name, content } = this.#skill;
    if (isOpen) return [new Text(label("skill"), 0, 0), prose(`**${name}**\n\n${content}`, this.#theme)];
    return [new Text(`${label("skill")} ${theme.fg("customMessageText", name)}${theme.fg("dim", ` (${keyText("app.tools.expand")} to expand)`)}`, 0, 0)];
  }
}

/** What a renderer of an extension draws, or nothing where it fails or has nothing to draw. */
function drawn(render) {
  try {
    return render();
  } catch {
    return undefined;
  }
}

export class CustomMessageComponent extends Container {
  #isOpen = false;
  #show;
  constructor(message, customRenderer, markdownTheme = getMarkdownTheme()) {
    super();
    this.#show = () => {
      this.clear();
      this.addChild(new Spacer(1));
      const own = drawn(() => customRenderer?.(message, { expanded: this.#isOpen }, theme));
      if (own) return void this.addChild(own);
      const box = new Box(1, 1, (line) => theme.bg("customMessageBg", line));
      for (const part of [new Text(label(message.customType), 0, 0), new Spacer(1), prose(said(message.content), markdownTheme)]) box.addChild(part);
      this.addChild(box);
    };
    this.#show();
  }
  setExpanded(isOpen) {
    this.#isOpen = isOpen;
    this.#show();
  }
  invalidate() {
    super.invalidate();
    this.#show();
  }
}

// Rows of a result or an output that are shown while it is folded.
const FOLDED_ROWS = 20;
const tail = (text, isOpen) => {
  const rows = text.replace(/\s+$/, "").split("\n");
  const left = isOpen ? 0 : rows.length - FOLDED_ROWS;
  const shown = theme.fg("toolOutput", rows.slice(Math.max(0, left)).join("\n"));
  return left > 0 ? `${theme.fg("muted", `... ${left} more lines (`)}${inFull()}${theme.fg("muted", " to expand)")}\n${shown}` : shown;
};

/** A call with what came of it: as the tool draws them, else its arguments and the text of its result. */
export class ToolExecutionComponent extends Container {
  #name;
  #id;
  #args;
  #tool;
  #ui;
  #cwd;
  #result;
  #state = {};
  #is = { expanded: false, partial: true, started: false, argsComplete: false, images: true };
  constructor(name, id, args, options, tool, ui, cwd) {
    super();
    // Older ones have no id.
    if (typeof id !== "string") [id, args, options, tool, ui, cwd] = [undefined, id, args, options, tool, ui];
    [this.#name, this.#id, this.#args, this.#tool, this.#ui, this.#cwd] = [name, id, args, tool, ui, cwd ?? globalThis.process.cwd()];
    this.#is.images = options?.showImages ?? true;
    this.#show();
  }
  updateArgs(args) {
    this.#args = args;
    this.#show();
  }
  markExecutionStarted() {
    this.#set({ started: true });
  }
  setArgsComplete() {
    this.#set({ argsComplete: true });
  }
  updateResult(result, isPartial = false) {
    this.#result = result;
    this.#set({ partial: isPartial });
  }
  setExpanded(expanded) {
    this.#set({ expanded });
  }
  setShowImages(images) {
    this.#set({ images });
  }
  setImageWidthCells() {}
  invalidate() {
    super.invalidate();
    this.#show();
  }
  #set(what) {
    Object.assign(this.#is, what);
    this.#show();
  }
  #show() {
    const { expanded, partial: isPartial, started, argsComplete, images } = this.#is;
    const isError = Boolean(this.#result?.isError);
    const context = {
      args: this.#args, toolCallId: this.#id, state: this.#state, cwd: this.#cwd, executionStarted: started, argsComplete, isPartial, expanded, showImages: images,
      isError, lastComponent: undefined, invalidate: () => (this.#show(), this.#ui?.requestRender?.()),
    };
    const call = drawn(() => this.#tool?.renderCall?.(this.#args, theme, context));
    const result = this.#result && drawn(() => this.#tool?.renderResult?.(this.#result, { expanded, isPartial }, theme, context));
    const background = isPartial ? "toolPendingBg" : isError ? "toolErrorBg" : "toolSuccessBg";
    const box = this.#tool?.renderShell === "self" ? new Container() : new Box(1, 1, (line) => theme.bg(background, line));
    box.addChild(call ?? new Text(this.#titled(expanded), 0, 0));
    const text = said(this.#result?.content);
    if (result) box.addChild(result);
    else if (text) box.addChild(new Text(tail(text, expanded), 0, 0));
    this.clear();
    this.addChild(new Spacer(1));
    this.addChild(box);
  }
  #titled(expanded) {
    const title = theme.fg("toolTitle", theme.bold(this.#tool?.label ?? this.#name));
    const args = JSON.stringify(this.#args ?? {}, null, expanded ? 2 : 0);
    return args === "{}" ? title : `${title} ${theme.fg("toolOutput", args)}`;
  }
}

/** A command of the person's with its output. */
export class BashExecutionComponent extends Container {
  #command;
  #ui;
  #role;
  #output = "";
  #end;
  #isOpen = false;
  constructor(command, ui, excludeFromContext = false) {
    super();
    [this.#command, this.#ui, this.#role] = [command, ui, excludeFromContext ? "dim" : "bashMode"];
    this.#show();
  }
  appendOutput(piece) {
    this.#output += piece.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
    this.#show();
  }
  setComplete(exitCode, cancelled, truncationResult, fullOutputPath) {
    this.#end = { exitCode, cancelled, fullOutputPath: truncationResult?.truncated ? fullOutputPath : undefined };
    this.#show();
  }
  setExpanded(isOpen) {
    this.#isOpen = isOpen;
    this.#show();
  }
  invalidate() {
    super.invalidate();
    this.#show();
  }
  getOutput() {
    return this.#output;
  }
  getCommand() {
    return this.#command;
  }
  #show() {
    this.clear();
    const rows = [theme.fg(this.#role, theme.bold(`$ ${this.#command}`))];
    if (this.#output) rows.push(tail(this.#output, this.#isOpen));
    const { exitCode, cancelled, fullOutputPath } = this.#end ?? {};
    if (!this.#end) rows.push(theme.fg("muted", "running..."));
    else if (cancelled) rows.push(theme.fg("warning", "(cancelled)"));
    else if (exitCode) rows.push(theme.fg("error", `(exit ${exitCode})`));
    if (fullOutputPath) rows.push(theme.fg("warning", `Output truncated. Full output: ${fullOutputPath}`));
    this.addChild(new Spacer(1));
    this.addChild(new Text(rows.join("\n"), 1, 0));
    this.#ui?.requestRender?.();
  }
}
