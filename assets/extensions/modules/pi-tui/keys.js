// What key a piece of terminal input is: legacy sequences, xterm modifyOtherKeys and the kitty protocol.
//
// `matchesKey` compares with names such as "ctrl+shift+p" or "pageUp". Some legacy bytes stand for two
// keys (tab and ctrl+i); such input matches both, while `parseKey` answers the usual one.

let kitty = false;
export const setKittyProtocolActive = (active) => {
  kitty = Boolean(active);
};
export const isKittyProtocolActive = () => kitty;

const SYMBOLS = {
  backtick: "`", hyphen: "-", equals: "=", leftbracket: "[", rightbracket: "]", backslash: "\\", semicolon: ";", quote: "'", comma: ",",
  period: ".", slash: "/", exclamation: "!", at: "@", hash: "#", dollar: "$", percent: "%", caret: "^", ampersand: "&", asterisk: "*",
  leftparen: "(", rightparen: ")", underscore: "_", plus: "+", pipe: "|", tilde: "~", leftbrace: "{", rightbrace: "}", colon: ":",
  lessthan: "<", greaterthan: ">", question: "?",
};
const NAMED = [
  "escape", "esc", "enter", "return", "tab", "space", "backspace", "delete", "insert", "clear", "home", "end", "pageUp", "pageDown", "up",
  "down", "left", "right", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
];
const COMBINATIONS = {
  ctrl: "ctrl", shift: "shift", alt: "alt", super: "super", ctrlShift: "ctrl+shift", shiftCtrl: "shift+ctrl", ctrlAlt: "ctrl+alt", altCtrl: "alt+ctrl",
  shiftAlt: "shift+alt", altShift: "alt+shift", ctrlShiftAlt: "ctrl+shift+alt", ctrlSuper: "ctrl+super", superCtrl: "super+ctrl",
  shiftSuper: "shift+super", superShift: "super+shift", altSuper: "alt+super", superAlt: "super+alt", ctrlShiftSuper: "ctrl+shift+super",
};

export const Key = {
  ...Object.fromEntries(NAMED.map((name) => [name, name])),
  ...SYMBOLS,
  ...Object.fromEntries(Object.entries(COMBINATIONS).map(([name, prefix]) => [name, (key) => `${prefix}+${key}`])),
};

const SHIFT = 1;
const ALT = 2;
const CTRL = 4;
const SUPER = 8;
const LOCKS = 64 + 128;

const LETTER_ENDS = { A: "up", B: "down", C: "right", D: "left", H: "home", F: "end", E: "clear", P: "f1", Q: "f2", R: "f3", S: "f4" };
const TILDE = {
  1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageUp", 6: "pageDown", 7: "home", 8: "end", 11: "f1", 12: "f2", 13: "f3", 14: "f4",
  15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10", 23: "f11", 24: "f12",
};
const CODES = { 9: "tab", 13: "enter", 27: "escape", 32: "space", 127: "backspace", 8: "backspace", 57414: "enter" };
// The keypad of the kitty protocol, as the keys they stand for.
const KEYPAD = {
  57399: "0", 57400: "1", 57401: "2", 57402: "3", 57403: "4", 57404: "5", 57405: "6", 57406: "7", 57407: "8", 57408: "9", 57409: ".",
  57410: "/", 57411: "*", 57412: "-", 57413: "+", 57415: "=", 57417: "left", 57418: "right", 57419: "up", 57420: "down", 57421: "pageUp",
  57422: "pageDown", 57423: "home", 57424: "end", 57425: "insert", 57426: "delete",
};
const RXVT_SHIFT = { a: "up", b: "down", c: "right", d: "left", e: "clear" };
const RXVT_TILDE = { 2: "insert", 3: "delete", 5: "pageUp", 6: "pageDown", 7: "home", 8: "end" };

/** `{key, mods, event}` of a kitty or xterm sequence, or undefined. */
function decodeSequence(data) {
  let match = /^\x1b\[(\d+)(?::(\d*))?(?::(\d*))?(?:;(\d*)(?::(\d+))?)?(?:;[\d:]*)?u$/.exec(data);
  if (match) {
    const [, code, shifted, base, mods, event] = match;
    return { ...keyOfCode(Number(code), Number(base) || 0, Number(shifted) || 0), mods: ((Number(mods) || 1) - 1) & ~LOCKS, event: Number(event) || 1 };
  }
  match = /^\x1b\[27;(\d+);(\d+)~$/.exec(data);
  if (match) return { ...keyOfCode(Number(match[2]), 0, 0), mods: (Number(match[1]) - 1) & ~LOCKS, event: 1 };
  match = /^\x1b\[(?:1;(\d+)(?::(\d+))?)?([A-HPQRS])$/.exec(data);
  if (match && LETTER_ENDS[match[3]]) return { key: LETTER_ENDS[match[3]], mods: ((Number(match[1]) || 1) - 1) & ~LOCKS, event: Number(match[2]) || 1 };
  match = /^\x1bO([A-HPQRSM])$/.exec(data);
  if (match) return { key: match[1] === "M" ? "enter" : LETTER_ENDS[match[1]], mods: 0, event: 1 };
  match = /^\x1b\[(\d+)(?:;(\d+)(?::(\d+))?)?~$/.exec(data);
  if (match && TILDE[match[1]]) return { key: TILDE[match[1]], mods: ((Number(match[2]) || 1) - 1) & ~LOCKS, event: Number(match[3]) || 1 };
  match = /^\x1b\[([a-e])$/.exec(data);
  if (match) return { key: RXVT_SHIFT[match[1]], mods: SHIFT, event: 1 };
  match = /^\x1bO([a-e])$/.exec(data);
  if (match) return { key: RXVT_SHIFT[match[1]], mods: CTRL, event: 1 };
  match = /^\x1b\[(\d+)([$^])$/.exec(data);
  if (match && RXVT_TILDE[match[1]]) return { key: RXVT_TILDE[match[1]], mods: match[2] === "$" ? SHIFT : CTRL, event: 1 };
  match = /^\x1b\[\[([A-E])$/.exec(data);
  if (match) return { key: `f${match[1].charCodeAt(0) - 64}`, mods: 0, event: 1 };
  if (data === "\x1b[Z") return { key: "tab", mods: SHIFT, event: 1 };
  return undefined;
}

function keyOfCode(code, base, shifted) {
  if (CODES[code]) return { key: CODES[code] };
  if (KEYPAD[code]) return { key: KEYPAD[code] };
  const letter = code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
  // A key that is no Latin letter is known by its place on a Latin keyboard.
  const latin = /^[a-zA-Z0-9]$/.test(letter) || /^[!-~]$/.test(letter);
  const key = !latin && base ? String.fromCodePoint(base) : letter;
  return { key: key.toLowerCase(), letter, shifted: shifted ? String.fromCodePoint(shifted) : undefined };
}

/** Every key that the input may be, the usual one first. */
function candidates(data) {
  const sequence = decodeSequence(data);
  if (sequence) {
    const list = [sequence];
    // "shift+1" also arrives as "!"; a capital letter also as shift and the small one.
    if (sequence.letter && /^[A-Z]$/.test(sequence.letter)) list.push({ ...sequence, mods: sequence.mods | SHIFT });
    if (sequence.shifted && sequence.mods & SHIFT && !/^[A-Za-z]$/.test(sequence.shifted)) list.push({ ...sequence, key: sequence.shifted.toLowerCase(), mods: sequence.mods & ~SHIFT });
    return list;
  }
  if (data.length === 2 && data[0] === "\x1b") {
    const inner = single(data[1]);
    // Where the protocol is on, this is what terminals are told to send for shift+enter.
    if (kitty && data[1] === "\r") return [{ key: "enter", mods: SHIFT }];
    return inner.map((item) => ({ ...item, mods: item.mods | ALT })).concat(
      data[1] === "b" ? [{ key: "left", mods: ALT }] : data[1] === "f" ? [{ key: "right", mods: ALT }] : data[1] === "p" ? [{ key: "up", mods: ALT }] : data[1] === "n" ? [{ key: "down", mods: ALT }] : [],
    );
  }
  if (/^\x1b\x1b\[/.test(data)) return candidates(data.slice(1)).map((item) => ({ ...item, mods: item.mods | ALT }));
  return single(data);
}

function single(data) {
  switch (data) {
    case "\x1b": return [{ key: "escape", mods: 0 }, { key: "[", mods: CTRL }];
    case "\r": return [{ key: "enter", mods: 0 }, { key: "m", mods: CTRL }];
    case "\n": return kitty ? [{ key: "enter", mods: SHIFT }, { key: "j", mods: CTRL }] : [{ key: "enter", mods: 0 }, { key: "j", mods: CTRL }];
    case "\t": return [{ key: "tab", mods: 0 }, { key: "i", mods: CTRL }];
    case " ": return [{ key: "space", mods: 0 }];
    case "\x7f": return [{ key: "backspace", mods: 0 }];
    case "\b": return [{ key: "backspace", mods: 0 }, { key: "h", mods: CTRL }, { key: "backspace", mods: CTRL }];
    case "\0": return [{ key: "space", mods: CTRL }, { key: "@", mods: CTRL }];
    case "\x1c": return [{ key: "\\", mods: CTRL }];
    case "\x1d": return [{ key: "]", mods: CTRL }];
    case "\x1e": return [{ key: "^", mods: CTRL }];
    case "\x1f": return [{ key: "-", mods: CTRL }, { key: "_", mods: CTRL }];
  }
  const code = data.charCodeAt(0);
  if (data.length === 1 && code < 27) return [{ key: String.fromCharCode(code + 96), mods: CTRL }];
  if ([...data].length !== 1 || code < 32) return [];
  if (/^[A-Z]$/.test(data)) return [{ key: data.toLowerCase(), mods: SHIFT, text: data }];
  return [{ key: data, mods: 0 }];
}

const ALIASES = { esc: "escape", return: "enter", del: "delete", ins: "insert", pgup: "pageup", pgdn: "pagedown" };

function parseId(id) {
  let rest = String(id).toLowerCase();
  let mods = 0;
  for (;;) {
    const match = /^(ctrl|control|shift|alt|option|meta|super|cmd)\+(?=.)/.exec(rest);
    if (!match) break;
    mods |= { ctrl: CTRL, control: CTRL, shift: SHIFT, alt: ALT, option: ALT, meta: ALT, super: SUPER, cmd: SUPER }[match[1]];
    rest = rest.slice(match[0].length);
  }
  return { key: ALIASES[rest] ?? rest, mods };
}

export function matchesKey(data, id) {
  if (typeof data !== "string" || data === "") return false;
  const wanted = parseId(id);
  return candidates(data).some(({ key, mods }) => key.toLowerCase() === wanted.key && mods === wanted.mods);
}

export function parseKey(data) {
  const [first] = candidates(data);
  if (!first) return undefined;
  if (first.text) return first.text;
  const names = [];
  if (first.mods & SHIFT) names.push("shift");
  if (first.mods & CTRL) names.push("ctrl");
  if (first.mods & ALT) names.push("alt");
  if (first.mods & SUPER) names.push("super");
  return [...names, first.key].join("+");
}

const eventOf = (data) => (data.includes("\x1b[200~") ? 1 : decodeSequence(data)?.event ?? 1);
export const isKeyRelease = (data) => eventOf(data) === 3;
export const isKeyRepeat = (data) => eventOf(data) === 2;

/** The text that a kitty sequence types, if it types any. */
export function decodeKittyPrintable(data) {
  const match = /^\x1b\[(\d+)(?::(\d*))?(?::\d*)?(?:;(\d*)(?::(\d+))?)?(?:;([\d:]*))?u$/.exec(data);
  if (!match) return undefined;
  const mods = ((Number(match[3]) || 1) - 1) & ~LOCKS;
  if (mods & (ALT | CTRL | SUPER) || match[4] === "3") return undefined;
  const code = mods & SHIFT && match[2] ? Number(match[2]) : Number(match[1]);
  if (code < 32 || code === 127 || (code >= 57344 && code <= 63743)) return undefined;
  return String.fromCodePoint(code);
}

/** What an input inserts into a text field: plain text, or what a kitty sequence types; else undefined. */
export function typedText(data) {
  const decoded = decodeKittyPrintable(data);
  if (decoded !== undefined) return decoded;
  return /^[^\x00-\x1f\x7f]+$/.test(data) ? data : undefined;
}
