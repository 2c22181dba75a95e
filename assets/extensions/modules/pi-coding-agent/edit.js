// Replacing exact text in a file, and the numbered diff that shows what changed.

/** All edits against the same original; each old text must occur exactly once. */
export function applyEdits(content, edits, path) {
  const crlf = content.includes("\r\n");
  const bom = content.startsWith("\ufeff") ? "\ufeff" : "";
  const plain = (text) => text.replaceAll("\r\n", "\n");
  const source = plain(content.slice(bom.length));
  const places = edits.map(({ oldText, newText }) => {
    const wanted = plain(oldText);
    const at = wanted === "" ? -1 : source.indexOf(wanted);
    if (at < 0) throw new Error(`Could not find the exact text in ${path}. The old text must match exactly including all whitespace and newlines.`);
    if (source.indexOf(wanted, at + 1) >= 0) {
      throw new Error(`Found ${source.split(wanted).length - 1} occurrences of the text in ${path}. The text must be unique. Please provide more context to make it unique.`);
    }
    return { at, end: at + wanted.length, text: plain(newText) };
  }).sort((a, b) => a.at - b.at);
  let result = "";
  let from = 0;
  for (const place of places) {
    if (place.at < from) throw new Error(`Two edits of ${path} overlap.`);
    result += source.slice(from, place.at) + place.text;
    from = place.end;
  }
  result += source.slice(from);
  if (result === source) throw new Error(`No changes made to ${path}. The replacement produced identical content.`);
  return bom + (crlf ? result.replaceAll("\n", "\r\n") : result);
}

const CONTEXT = 4;

/** Lines that differ with some around them: `+12 new`, `-12 old`, ` 11 same`. */
export function diffOf(before, after) {
  const old = before.split("\n");
  const now = after.split("\n");
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const width = String(Math.max(old.length, now.length)).length;
  const row = (mark, number, line) => `${mark}${String(number).padStart(width)} ${line}`;
  const lines = [];
  const start = Math.max(0, head - CONTEXT);
  if (start > 0) lines.push(` ${"".padStart(width)} ...`);
  for (let i = start; i < head; i++) lines.push(row(" ", i + 1, old[i]));
  for (let i = head; i < old.length - tail; i++) lines.push(row("-", i + 1, old[i]));
  for (let i = head; i < now.length - tail; i++) lines.push(row("+", i + 1, now[i]));
  const end = Math.min(tail, CONTEXT);
  for (let i = old.length - tail; i < old.length - tail + end; i++) lines.push(row(" ", i + 1, old[i]));
  if (tail > CONTEXT) lines.push(` ${"".padStart(width)} ...`);
  return { diff: lines.join("\n"), firstChangedLine: head + 1 };
}
