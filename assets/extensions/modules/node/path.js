// node:path, POSIX rules; `win32` offers the same functions under the name, since levain's paths use "/".

import { withStubs } from "../stubs.js";

const text = (value, name = "path") => {
  if (typeof value !== "string") {
    const error = new TypeError(`The "${name}" argument must be of type string. Received ${value === null ? "null" : typeof value}`);
    error.code = "ERR_INVALID_ARG_TYPE";
    throw error;
  }
  return value;
};

function segments(path, absolute) {
  const out = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") out.push(part);
    else if (out.length > 0 && out.at(-1) !== "..") out.pop();
    else if (!absolute) out.push("..");
  }
  return out;
}

export const sep = "/";
export const delimiter = ":";
export const isAbsolute = (path) => text(path).startsWith("/");

export function normalize(path) {
  if (text(path) === "") return ".";
  const absolute = path.startsWith("/");
  const body = segments(path, absolute).join("/");
  const tail = path.endsWith("/") && body !== "" ? "/" : "";
  if (body === "") return absolute ? "/" : path.endsWith("/") ? "./" : ".";
  return (absolute ? "/" : "") + body + tail;
}

export function join(...parts) {
  const joined = parts.map((part) => text(part)).filter((part) => part !== "").join("/");
  return joined === "" ? "." : normalize(joined);
}

export function resolve(...parts) {
  let path = "";
  for (let i = parts.length - 1; i >= 0 && !path.startsWith("/"); i--) {
    if (text(parts[i]) !== "") path = path === "" ? parts[i] : `${parts[i]}/${path}`;
  }
  if (!path.startsWith("/")) path = `${globalThis.process.cwd()}/${path}`;
  return `/${segments(path, true).join("/")}`;
}

export function dirname(path) {
  const body = text(path).replace(/\/+$/, "");
  if (body === "") return path.startsWith("/") ? "/" : ".";
  const cut = body.lastIndexOf("/");
  if (cut < 0) return ".";
  return body.slice(0, cut).replace(/\/+$/, "") || "/";
}

export function basename(path, suffix) {
  const body = text(path).replace(/\/+$/, "");
  const name = body.slice(body.lastIndexOf("/") + 1);
  return suffix && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}

export function extname(path) {
  const name = basename(path);
  const dot = name.lastIndexOf(".");
  return dot <= 0 || name === ".." ? "" : name.slice(dot);
}

export function relative(from, to) {
  const [a, b] = [segments(resolve(from), true), segments(resolve(to), true)];
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return [...a.slice(same).map(() => ".."), ...b.slice(same)].join("/");
}

export function parse(path) {
  const root = isAbsolute(path) ? "/" : "";
  const base = basename(path);
  const ext = extname(path);
  const dir = path.replace(/\/+$/, "").includes("/") ? dirname(path) : root;
  return { root, dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
}

export function format({ dir, root = "", base, name = "", ext = "" }) {
  const file = base ?? name + (ext && !ext.startsWith(".") ? `.${ext}` : ext);
  if (!dir) return root + file;
  return dir === root ? dir + file : `${dir}/${file}`;
}

export const toNamespacedPath = (path) => path;

/** `*`, `**`, `?`, sets and braces, over slash-separated names. */
export function matchesGlob(path, pattern) {
  return globExpression(pattern).test(path);
}

export function globExpression(pattern) {
  let out = "";
  let braces = 0;
  for (let i = 0; i < pattern.length; i++) {
    const letter = pattern[i];
    if (letter === "*" && pattern[i + 1] === "*") {
      const slash = pattern[i + 2] === "/";
      out += slash ? "(?:[^/]+/)*" : ".*";
      i += slash ? 2 : 1;
    } else if (letter === "*") out += "[^/]*";
    else if (letter === "?") out += "[^/]";
    else if (letter === "{") {
      braces++;
      out += "(?:";
    } else if (letter === "}" && braces > 0) {
      braces--;
      out += ")";
    } else if (letter === "," && braces > 0) out += "|";
    else if (letter === "[") {
      const end = pattern.indexOf("]", i + 2);
      if (end < 0) out += "\\[";
      else {
        out += `[${pattern.slice(i + 1, end).replace(/^!/, "^")}]`;
        i = end;
      }
    } else out += letter.replace(/[.+^$()|\\\]}]/g, "\\$&");
  }
  return new RegExp(`^${out}$`);
}

export const posix = {
  sep, delimiter, isAbsolute, normalize, join, resolve, dirname, basename, extname, relative, parse, format, toNamespacedPath, matchesGlob,
};
posix.posix = posix;
posix.win32 = posix;
export const win32 = posix;
// Names of the real module that are not implemented.
export const {
  _makeLong,
} = withStubs("node:path");
export default posix;
