// What differs between two texts, line by line.

// Texts that differ in more lines are taken for replaced as a whole between what they begin and end with.
const MOST_CHANGES = 1000;

/**
 * Lines that went and came, in order: `[mark, line]` with the mark ` `, `-` or `+`. Fewest changes (Myers, "An O(ND) Difference
 * Algorithm and Its Variations", 1986); of equal ways one that takes away before it adds.
 */
function lineDiff(old, now) {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const [a, b] = [old.slice(head, old.length - tail), now.slice(head, now.length - tail)];
  const same = (lines) => lines.map((line) => [" ", line]);
  return [...same(old.slice(0, head)), ...changes(a, b), ...same(old.slice(old.length - tail))];
}

function changes(a, b) {
  const whole = () => [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
  if (a.length === 0 || b.length === 0) return whole();
  // How far each diagonal reaches after so many changes; that of `k` stands at `k + count`, and each second one is there.
  const reached = [];
  for (let count = 0; count <= MOST_CHANGES; count++) {
    const far = new Int32Array(2 * count + 1);
    for (let k = -count; k <= count; k += 2) {
      let x = count === 0 ? 0 : adds(reached[count - 1], count, k) ? at(reached[count - 1], count, k + 1) : at(reached[count - 1], count, k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      far[k + count] = x;
      if (x >= a.length && x - k >= b.length) return wayBack(a, b, reached, count);
    }
    reached.push(far);
  }
  return whole();
}

const at = (before, count, k) => before[k + count - 1];
/** Whether the way to a diagonal comes by a line of the new text, from the round before. */
const adds = (before, count, k) => k === -count || (k !== count && at(before, count, k - 1) < at(before, count, k + 1));

function wayBack(a, b, reached, last) {
  const made = [];
  let [x, y] = [a.length, b.length];
  for (let count = last; count > 0; count--) {
    const before = reached[count - 1];
    const k = x - y;
    const isNew = adds(before, count, k);
    const fromX = isNew ? at(before, count, k + 1) : at(before, count, k - 1);
    const fromY = fromX - (isNew ? k + 1 : k - 1);
    const [atX, atY] = isNew ? [fromX, fromY + 1] : [fromX + 1, fromY];
    while (x > atX && y > atY) made.push([" ", (y--, a[--x])]);
    made.push(isNew ? ["+", b[atY - 1]] : ["-", a[atX - 1]]);
    [x, y] = [fromX, fromY];
  }
  while (x > 0 && y > 0) made.push([" ", (y--, a[--x])]);
  return made.reverse();
}

/** With their ends: a last line without one is another. */
const linesOf = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Lines numbered in both texts, and which of them are shown: those that changed, with so many around them. */
function shownLines(before, after, context) {
  let [old, now] = [1, 1];
  const rows = lineDiff(linesOf(before), linesOf(after)).map(([mark, line]) => ({ mark, line: line.replace(/\n$/, ""), isCut: !line.endsWith("\n"), old: mark === "+" ? old : old++, now: mark === "-" ? now : now++, shown: false }));
  for (const [at, { mark }] of rows.entries()) {
    if (mark === " ") continue;
    for (const row of rows.slice(Math.max(0, at - context), at + context + 1)) row.shown = true;
  }
  return rows;
}

/** What changed with some lines around it (`+12 new`, `-12 old`, ` 11 same`), and the first line of the new text that did. */
export function generateDiffString(before, after, context = 4) {
  const width = String(Math.max(before.split("\n").length, after.split("\n").length)).length;
  const rows = shownLines(before, after, context);
  const lines = [];
  for (const [at, { mark, line, old, now, shown }] of rows.entries()) {
    if (shown) lines.push(`${mark}${String(mark === "+" ? now : old).padStart(width)} ${line}`);
    else if (at === 0 || rows[at - 1].shown) lines.push(` ${"".padStart(width)} ...`);
  }
  const isNone = !rows.some(({ shown }) => shown);
  return { diff: isNone ? "" : lines.join("\n"), firstChangedLine: rows.find(({ mark }) => mark !== " ")?.now };
}

/** The same as a patch. */
export function generateUnifiedPatch(path, before, after, context = 4) {
  const rows = shownLines(before, after, context);
  const lines = [`--- ${path}`, `+++ ${path}`];
  for (let at = 0; at < rows.length; ) {
    if (!rows[at].shown) {
      at++;
      continue;
    }
    const end = rows.findIndex(({ shown }, i) => i > at && !shown);
    const hunk = rows.slice(at, end < 0 ? undefined : end);
    const of = (mark) => hunk.filter((row) => row.mark !== mark).length;
    const place = (start, count) => `${count === 0 ? start - 1 : start},${count}`;
    lines.push(`@@ -${place(hunk[0].old, of("+"))} +${place(hunk[0].now, of("-"))} @@`);
    for (const { mark, line, isCut } of hunk) {
      lines.push(`${mark}${line}`);
      if (isCut) lines.push("\\ No newline at end of file");
    }
    at += hunk.length;
  }
  return `${lines.join("\n")}\n`;
}
