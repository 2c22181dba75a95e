// Images. The host draws them if it can; an extension's component shows a line that names the image.
// Sizes are read from the files' own headers.

import { base64Decode } from "../../runtime/encoding.js";
import { unsupported } from "../../runtime/errors.js";

let cell = { widthPx: 9, heightPx: 18 };
export const getCellDimensions = () => cell;
export const setCellDimensions = (size) => {
  cell = size;
};

let capabilities;
export const detectCapabilities = () => ({ images: null, trueColor: true, hyperlinks: false });
export const getCapabilities = () => (capabilities ??= detectCapabilities());
export const resetCapabilitiesCache = () => {
  capabilities = undefined;
};
export const setCapabilities = (value) => {
  capabilities = value;
};

const view = (data) => {
  const bytes = base64Decode(data);
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
};
const guarded = (read) => (data) => {
  try {
    return read(view(data));
  } catch {
    return null;
  }
};
const size = (widthPx, heightPx) => (widthPx > 0 && heightPx > 0 ? { widthPx, heightPx } : null);

export const getPngDimensions = guarded((data) => (data.getUint32(0) === 0x89504e47 ? size(data.getUint32(16), data.getUint32(20)) : null));
export const getGifDimensions = guarded((data) => (data.getUint32(0) === 0x47494638 ? size(data.getUint16(6, true), data.getUint16(8, true)) : null));
export const getJpegDimensions = guarded((data) => {
  if (data.getUint16(0) !== 0xffd8) return null;
  for (let at = 2; at + 9 < data.byteLength; ) {
    if (data.getUint8(at) !== 0xff) {
      at++;
      continue;
    }
    const marker = data.getUint8(at + 1);
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return size(data.getUint16(at + 7), data.getUint16(at + 5));
    at += 2 + data.getUint16(at + 2);
  }
  return null;
});
export const getWebpDimensions = guarded((data) => {
  if (data.getUint32(0) !== 0x52494646 || data.getUint32(8) !== 0x57454250) return null;
  const kind = data.getUint32(12);
  if (kind === 0x56503820) return size(data.getUint16(26, true) & 0x3fff, data.getUint16(28, true) & 0x3fff);
  if (kind === 0x5650384c) {
    const bits = data.getUint32(21, true);
    return size((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1);
  }
  const three = (at) => data.getUint8(at) | (data.getUint8(at + 1) << 8) | (data.getUint8(at + 2) << 16);
  return kind === 0x56503858 ? size(three(24) + 1, three(27) + 1) : null;
});

const READERS = { "image/png": getPngDimensions, "image/jpeg": getJpegDimensions, "image/gif": getGifDimensions, "image/webp": getWebpDimensions };
export const getImageDimensions = (data, mimeType) => READERS[mimeType]?.(data) ?? null;

export function calculateImageRows(dimensions, columns, cellSize = cell) {
  const scale = (columns * cellSize.widthPx) / dimensions.widthPx;
  return Math.max(1, Math.ceil((dimensions.heightPx * scale) / cellSize.heightPx));
}

export function imageFallback(mimeType, dimensions, filename) {
  const parts = [filename, `[${mimeType}]`, dimensions ? `${dimensions.widthPx}x${dimensions.heightPx}` : undefined];
  return `[Image: ${parts.filter(Boolean).join(" ")}]`;
}

let nextImage = 1;
export const allocateImageId = () => nextImage++;
export const renderImage = () => null;
const refuse = (name) => () => {
  throw unsupported(`pi-tui ${name}`, "images are drawn by the program");
};
export const encodeITerm2 = refuse("encodeITerm2");
export const encodeKitty = refuse("encodeKitty");
export const deleteKittyImage = () => "";
export const deleteAllKittyImages = () => "";
export const hyperlink = (text, url) => `\x1b]8;;${url}\x1b\\${text}\x1b]8;;\x1b\\`;

export class Image {
  #mimeType;
  #theme;
  #options;
  #dimensions;
  constructor(base64Data, mimeType, theme, options = {}, dimensions) {
    this.#mimeType = mimeType;
    this.#theme = theme;
    this.#options = options;
    this.#dimensions = dimensions ?? getImageDimensions(base64Data, mimeType) ?? undefined;
  }
  getImageId() {
    return this.#options.imageId;
  }
  invalidate() {}
  render() {
    const text = imageFallback(this.#mimeType, this.#dimensions, this.#options.filename);
    return [this.#theme?.fallbackColor?.(text) ?? text];
  }
}
