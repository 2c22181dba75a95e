// Fuzzy matching: the letters of the query in order; lower scores are better.

export function fuzzyMatch(query, text) {
  const wanted = query.toLowerCase();
  const hay = text.toLowerCase();
  if (wanted === "") return { matches: true, score: 0 };
  let score = 0;
  let from = 0;
  let last = -2;
  let run = 0;
  for (const letter of wanted) {
    const at = hay.indexOf(letter, from);
    if (at < 0) return { matches: false, score: 0 };
    run = at === last + 1 ? run + 1 : 0;
    score += at === last + 1 ? -5 * run : Math.max(0, at - last - 2) * 2;
    if (at === 0 || /[\s\-_./:]/.test(hay[at - 1])) score -= 10;
    score += at * 0.1;
    last = at;
    from = at + 1;
  }
  if (hay === wanted) score -= 100;
  return { matches: true, score };
}

/** Items that match every word of the query, best first. */
export function fuzzyFilter(items, query, getText) {
  const words = query.trim().split(/[\s/]+/).filter(Boolean);
  if (words.length === 0) return items;
  const found = [];
  for (const item of items) {
    const text = getText(item);
    const results = words.map((word) => fuzzyMatch(word, text));
    if (results.every((result) => result.matches)) found.push({ item, score: results.reduce((sum, { score }) => sum + score, 0) });
  }
  return found.sort((a, b) => a.score - b.score).map(({ item }) => item);
}
