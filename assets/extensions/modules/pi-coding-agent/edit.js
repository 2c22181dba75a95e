// Replacing exact text in a file.

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
