// The theme an extension styles its text with: names of roles in, text with escapes out.
//
// Colours are the host's, as ready escape sequences per role; without a host theme the sixteen colours
// of the terminal are used. A role that does not exist throws, as a typing error should.

import { ask } from "../runtime/bridge.js";

const sgr = (open, close) => (text) => `\x1b[${open}m${text}\x1b[${close}m`;

const BASIC = {
  accent: 36, border: 34, borderAccent: 36, borderMuted: 90, success: 32, error: 31, warning: 33, muted: 90, dim: 90, text: 39, thinkingText: 90,
  userMessageText: 39, customMessageText: 39, customMessageLabel: 35, toolTitle: 39, toolOutput: 90, mdHeading: 33, mdLink: 34, mdLinkUrl: 90,
  mdCode: 36, mdCodeBlock: 32, mdCodeBlockBorder: 90, mdQuote: 90, mdQuoteBorder: 90, mdHr: 90, mdListBullet: 36, toolDiffAdded: 32,
  toolDiffRemoved: 31, toolDiffContext: 90, syntaxComment: 90, syntaxKeyword: 34, syntaxFunction: 33, syntaxVariable: 36, syntaxString: 32,
  syntaxNumber: 35, syntaxType: 36, syntaxOperator: 39, syntaxPunctuation: 39, thinkingOff: 90, thinkingMinimal: 90, thinkingLow: 34,
  thinkingMedium: 36, thinkingHigh: 35, thinkingXhigh: 35, thinkingMax: 31, bashMode: 32,
};
const BASIC_BG = { selectedBg: 100, userMessageBg: 49, customMessageBg: 49, toolPendingBg: 49, toolSuccessBg: 49, toolErrorBg: 49 };

const FALLBACK = {
  name: "terminal",
  mode: "256color",
  fg: Object.fromEntries(Object.entries(BASIC).map(([role, code]) => [role, `\x1b[${code}m`])),
  bg: Object.fromEntries(Object.entries(BASIC_BG).map(([role, code]) => [role, `\x1b[${code}m`])),
};

export class Theme {
  #data;
  constructor(data) {
    this.#data = typeof data === "function" ? data : () => data;
    this.bold = sgr(1, 22);
    this.italic = sgr(3, 23);
    this.underline = sgr(4, 24);
    this.inverse = sgr(7, 27);
    this.strikethrough = sgr(9, 29);
    // Bound, because extensions pass them on as plain functions.
    this.fg = (role, text) => `${this.getFgAnsi(role)}${text}\x1b[39m`;
    this.bg = (role, text) => `${this.getBgAnsi(role)}${text}\x1b[49m`;
  }
  get name() {
    return this.#data().name;
  }
  get sourcePath() {
    return this.#data().path;
  }
  getFgAnsi(role) {
    return look(this.#data().fg, FALLBACK.fg, role, "color");
  }
  getBgAnsi(role) {
    return look(this.#data().bg, FALLBACK.bg, role, "background color");
  }
  getColorMode() {
    return this.#data().mode ?? "256color";
  }
  getThinkingBorderColor(level) {
    const role = `thinking${level[0].toUpperCase()}${level.slice(1)}`;
    return (text) => this.fg(Object.hasOwn(FALLBACK.fg, role) ? role : "thinkingOff", text);
  }
  getBashModeBorderColor() {
    return (text) => this.fg("bashMode", text);
  }
}

function look(table, fallback, role, what) {
  if (table && Object.hasOwn(table, role)) return table[role];
  if (Object.hasOwn(fallback, role)) return fallback[role];
  throw new Error(`Unknown theme ${what}: ${role}`);
}

let cached;
/** The host tells when its theme changes; until then the answer is kept. */
export const themeChanged = () => {
  cached = undefined;
};
const current = () => (cached ??= ask("ui.theme") ?? FALLBACK);

/** Follows the host's theme: what was made before a change draws in the new colours. */
export const theme = new Theme(current);

export function namedTheme(name) {
  const data = ask("ui.theme", { name });
  return data ? new Theme(data) : undefined;
}
