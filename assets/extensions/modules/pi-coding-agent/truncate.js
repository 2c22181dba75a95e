// Cutting long output to a number of lines and bytes, and sizes in words.

import { utf8Encode } from "../../runtime/encoding.js";

export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
export const GREP_MAX_LINE_LENGTH = 500;

const bytesIn = (text) => utf8Encode(text).length;

export function formatSize(bytes) {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

function measure(content, options) {
  const { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = options;
  const lines = content.split("\n");
  return { lines, totals: { totalLines: lines.length, totalBytes: bytesIn(content), maxLines, maxBytes }, maxLines, maxBytes };
}

const result = (content, truncatedBy, totals, kept, extra = {}) => ({
  content, truncated: truncatedBy !== null, truncatedBy, ...totals, outputLines: kept, outputBytes: bytesIn(content), lastLinePartial: false,
  firstLineExceedsLimit: false, ...extra,
});

/** Keeps the beginning, in whole lines. */
export function truncateHead(content, options = {}) {
  const { lines, totals, maxLines, maxBytes } = measure(content, options);
  if (lines.length <= maxLines && totals.totalBytes <= maxBytes) return result(content, null, totals, lines.length);
  if (bytesIn(lines[0]) > maxBytes) return result("", "bytes", totals, 0, { firstLineExceedsLimit: true });
  const kept = [];
  let size = 0;
  let by = "lines";
  for (const line of lines.slice(0, maxLines)) {
    const more = bytesIn(line) + (kept.length > 0 ? 1 : 0);
    if (size + more > maxBytes) {
      by = "bytes";
      break;
    }
    kept.push(line);
    size += more;
  }
  return result(kept.join("\n"), by, totals, kept.length);
}

/** Keeps the end; a last line that is too long alone is cut at its start. */
export function truncateTail(content, options = {}) {
  const { lines, totals, maxLines, maxBytes } = measure(content, options);
  if (lines.length <= maxLines && totals.totalBytes <= maxBytes) return result(content, null, totals, lines.length);
  const kept = [];
  let size = 0;
  let by = "lines";
  let partial = false;
  for (let i = lines.length - 1; i >= 0 && kept.length < maxLines; i--) {
    const more = bytesIn(lines[i]) + (kept.length > 0 ? 1 : 0);
    if (size + more > maxBytes) {
      by = "bytes";
      if (kept.length === 0) {
        kept.unshift(lastBytes(lines[i], maxBytes));
        partial = true;
      }
      break;
    }
    kept.unshift(lines[i]);
    size += more;
  }
  return result(kept.join("\n"), by, totals, kept.length, { lastLinePartial: partial });
}

function lastBytes(text, limit) {
  const letters = [...text];
  let size = 0;
  let at = letters.length;
  while (at > 0 && size + bytesIn(letters[at - 1]) <= limit) size += bytesIn(letters[--at]);
  return letters.slice(at).join("");
}

export function truncateLine(line, maxChars = GREP_MAX_LINE_LENGTH) {
  return line.length <= maxChars ? { text: line, wasTruncated: false } : { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };
}
