// pi-tui: drawing and keys, held against the published package where it is installed.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { ASSETS, Engine, outside } from "./engine.mjs";
import { EXAMPLES } from "./examples.mjs";

const engine = await Engine.start();
test.after(() => engine.stop());
const tui = (await engine.module(path.join(ASSETS, "modules/pi-tui/index.js"))).namespace;

async function published() {
  for (let dir = EXAMPLES; dir && dir !== "/"; dir = path.dirname(dir)) {
    const file = path.join(dir, "node_modules/@mariozechner/pi-tui/dist/index.js");
    if (fs.existsSync(file)) return import(pathToFileURL(file));
  }
  return undefined;
}
const real = await published();
const skip = real === undefined && "pi-tui is not installed";

const INPUT = ["a", "A", "z", "1", "!", " ", "\t", "\r", "\n", "\x1b", "\x7f", "\x01", "\x03", "\x1a", "\x1c", "\x1d", "\x1f", "\x1b[A", "\x1b[B", "\x1b[H", "\x1b[F", "\x1b[Z", "\x1b[1~", "\x1b[3~", "\x1b[5~", "\x1b[6~", "\x1b[2~", "\x1bOA", "\x1bOP", "\x1b[15~", "\x1b[24~", "\x1b[1;5C", "\x1b[1;3D", "\x1b[1;2A", "\x1b[3;5~", "\x1ba", "\x1b\r", "\x1b\x7f", "\x1bb", "\x1bf", "\x1b[97u", "\x1b[97;5u", "\x1b[97;6u", "\x1b[97:65;2u", "\x1b[13;2u", "\x1b[13u", "\x1b[27u", "\x1b[9;2u", "\x1b[127;3u", "\x1b[32u", "\x1b[97;1:3u", "\x1b[1;1:3A", "\x1b[1;5:2C", "\x1b[27;2;13~", "\x1b[27;5;97~", "\x1b[1089::99;5u", "\x1b[49;5u", "\x1b[45;5u", "\x1b[57414u", "\x1b[a", "\x1bOa", "\x1b[3$", "\x1b[3^", "\x1b[97;69u", "\x1b[200~hi\x1b[201~"];
const NAMES = ["a", "shift+a", "ctrl+a", "alt+a", "ctrl+shift+a", "escape", "esc", "enter", "return", "shift+enter", "ctrl+enter", "tab", "shift+tab", "space", "shift+space", "ctrl+space", "backspace", "alt+backspace", "delete", "ctrl+delete", "shift+delete", "home", "end", "pageUp", "pageDown", "up", "down", "left", "right", "shift+up", "ctrl+right", "ctrl+up", "alt+left", "alt+right", "insert", "f1", "f5", "f12", "ctrl+c", "ctrl+z", "ctrl+i", "ctrl+[", "ctrl+]", "ctrl+\\", "ctrl+-", "ctrl+1", "1", "!", "z"];

for (const kitty of [false, true]) {
  test(`keys match at least what the published package matches, kitty ${kitty}`, { skip }, () => {
    real.setKittyProtocolActive(kitty);
    tui.setKittyProtocolActive(kitty);
    for (const data of INPUT) {
      for (const name of NAMES) {
        if (real.matchesKey(data, name)) assert.ok(tui.matchesKey(data, name), `${JSON.stringify(data)} is ${name}`);
        // Where ours goes further it is a key of its own name, never a plain letter.
        else if (tui.matchesKey(data, name)) assert.match(name, /\+|left|right|home/, `${JSON.stringify(data)} is not ${name}`);
      }
      assert.equal(tui.isKeyRelease(data), real.isKeyRelease(data), JSON.stringify(data));
      assert.equal(tui.isKeyRepeat(data), real.isKeyRepeat(data), JSON.stringify(data));
    }
  });
}

test("keys by themselves", () => {
  tui.setKittyProtocolActive(false);
  assert.equal(tui.Key.ctrlShift("p"), "ctrl+shift+p");
  assert.ok(tui.matchesKey("\x1b[112;6u", tui.Key.ctrlShift("p")) && tui.matchesKey("\x1b[112;6u", "shift+ctrl+p"));
  assert.deepEqual(["\x1b[A", "\x1b[1;5C", "q", "\r", "\x03"].map((data) => tui.parseKey(data)), ["up", "ctrl+right", "q", "enter", "ctrl+c"]);
  assert.equal(tui.decodeKittyPrintable("\x1b[97:65;2u"), "A");
  const keys = new tui.KeybindingsManager({ "tui.select.up": "k" });
  assert.ok(keys.matches("k", "selectUp") && keys.matches("k", "tui.select.up") && keys.matches("\x1b", "tui.select.cancel") && keys.matches("\x0f", "app.tools.expand"));
});

const TEXTS = ["hello world foo bar", "a\tb", "日本語テキスト wraps", "averyveryverylongwordthatmustbreak x", "line\nbreak\n\nx", "\x1b[4munder line wraps here ok\x1b[24m", "\x1b[1;38;5;9mbold and red for long\x1b[0m", "👩‍🚀 astronaut 👍🏽 é", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ z", "", "   ", "ends with space   "];
test("width, wrapping and cutting", { skip }, () => {
  for (const text of TEXTS) {
    assert.equal(tui.visibleWidth(text), real.visibleWidth(text), JSON.stringify(text));
    for (const width of [5, 8, 12, 40]) {
      assert.deepEqual(outside(tui.wrapTextWithAnsi(text, width)), real.wrapTextWithAnsi(text, width), `${JSON.stringify(text)} at ${width}`);
      if (text.includes("\n")) continue;
      for (const dots of ["...", "", "…"]) assert.equal(tui.truncateToWidth(text, width, dots, true), real.truncateToWidth(text, width, dots, true), `${JSON.stringify(text)} at ${width}`);
    }
  }
});

const same = (text) => text;
const list = { selectedPrefix: same, selectedText: (text) => `<${text}>`, description: (text) => `(${text})`, scrollInfo: same, noMatch: same };
const settings = { label: (text, on) => (on ? `<${text}>` : text), value: (text) => `=${text}`, description: same, cursor: "→ ", hint: same };
const markdown = Object.fromEntries(["heading", "link", "linkUrl", "code", "codeBlock", "codeBlockBorder", "quote", "quoteBorder", "hr", "listBullet", "bold", "italic", "strikethrough", "underline"].map((name) => [name, (text) => `{${name.slice(0, 4)}:${text}}`]));
const items = Array.from({ length: 8 }, (_, i) => ({ value: `item${i}`, label: `Item number ${i}`, description: i % 2 ? `about it ${"x".repeat(i * 2)}` : undefined }));
const rows = () => [{ id: "a", label: "Alpha", currentValue: "on", values: ["on", "off"], description: "what it does" }, { id: "b", label: "Beta longer", currentValue: "x", values: ["x", "y"] }];
const screen = { requestRender() {}, terminal: { rows: 24, columns: 80 } };
const focused = (component) => Object.assign(component, { focused: true });

const COMPONENTS = {
  text: [(lib) => new lib.Text("hello world foo\nbar baz", 1, 1)],
  "empty text": [(lib) => new lib.Text(" ", 1, 1)],
  box: [(lib) => { const box = new lib.Box(2, 1, (text) => `[${text}]`); box.addChild(new lib.Text("a b c", 0, 0)); return box; }],
  "truncated text": [(lib) => new lib.TruncatedText("a long text that is cut somewhere\nx", 1, 1)],
  spacer: [(lib) => new lib.Spacer(2)],
  "select list": [(lib) => new lib.SelectList(items, 4, list), "\x1b[A", "\x1b[B", "\x1b[B", "\x1b[B"],
  "select list, nothing found": [(lib) => { const select = new lib.SelectList(items, 4, list); select.setFilter("zz"); return select; }],
  "settings list": [(lib) => new lib.SettingsList(rows(), 5, settings, same, same), "\r", "\x1b[B", " "],
  "settings list with search": [(lib) => new lib.SettingsList(rows(), 5, settings, same, same, { enableSearch: true }), "b", "\r"],
  input: [(lib) => focused(new lib.Input()), ..."hello world", "\x1b[D", "\x17"],
  editor: [(lib) => focused(new lib.Editor(screen, { borderColor: same, selectList: list })), ..."hello world this is long text to wrap", "\x1b\r", ..."second", "\x1b[A", "\x17", "\x7f"],
};
for (const text of ["# Title\n\nText **bold** *it* `code` ~~s~~\n\n## Two\n### Three", "- a\n- b\n  - c\n1. x\n2. y", "```js\nlet a = 1;\n```\nafter", "---", "[link](http://x) and http://y and <http://z>", "para one\ncontinues\n\npara two", "a\n- list after\n\ntext", "***both***", "snake_case_name and 2 * 3 * 4", "line  \nbreak", "\\*not\\*"]) {
  COMPONENTS[`markdown ${JSON.stringify(text)}`] = [(lib) => new lib.Markdown(text, 0, 0, markdown)];
}
for (const [name, [make, ...keys]] of Object.entries(COMPONENTS)) {
  test(`drawn like the published one: ${name}`, { skip }, () => {
    tui.setKittyProtocolActive(false);
    real.setKittyProtocolActive(false);
    for (const width of [24, 50, 80]) {
      const [ours, theirs] = [make(tui), make(real)];
      for (const key of keys) for (const component of [ours, theirs]) component.handleInput(key);
      assert.deepEqual(outside(ours.render(width)), theirs.render(width), `at ${width}`);
    }
  });
}

test("editor: submit, history, paste, undo", () => {
  const editor = new tui.Editor(screen, { borderColor: same, selectList: list });
  const sent = [];
  editor.onSubmit = (text) => {
    sent.push(text);
    editor.addToHistory(text);
  };
  const type = (...keys) => keys.forEach((key) => editor.handleInput(key));
  type(..."one", "\r", ..."two\\", "\r", ..."more", "\r");
  assert.deepEqual(sent, ["one", "two\nmore"]);
  type("\x1b[A");
  assert.equal(editor.getText(), "two\nmore");
  type("\x1b[A", "\x1b[A");
  assert.equal(editor.getText(), "one");
  editor.setText("");
  type(`\x1b[200~${"line\n".repeat(20)}\x1b[201~`, "\r");
  assert.equal(sent.at(-1), "line\n".repeat(20).trim());
  type(..."abc", "\x15", "\x19");
  assert.equal(editor.getText(), "abc");
  type("\x1f");
  assert.equal(editor.getText(), "");
});

test("fuzzy search", () => {
  assert.deepEqual(outside(tui.fuzzyFilter(engine.inside(["src/main.rs", "main", "xmxaxixn", "nothing"]), "main", (text) => text)), ["main", "src/main.rs", "xmxaxixn"]);
  assert.equal(tui.fuzzyMatch("abc", "acb").matches, false);
});

test("every component fits its width", () => {
  for (const [name, [make, ...keys]] of Object.entries(COMPONENTS)) {
    for (const width of [10, 24, 37]) {
      const component = make(tui);
      for (const key of keys) component.handleInput(key);
      if (name.startsWith("markdown") || name.startsWith("select") || name.startsWith("settings") || name === "box") continue;
      for (const line of component.render(width)) assert.ok(tui.visibleWidth(line) <= width, `${name} at ${width}: ${line}`);
    }
  }
});
