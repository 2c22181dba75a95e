// node:url: file addresses and paths, and the old `parse` as far as scripts still use it.

import { withStubs } from "../stubs.js";
import { URL, URLSearchParams, percentDecode } from "../../runtime/url.js";
import { resolve as resolvePath } from "./path.js";

export function fileURLToPath(url) {
  const parsed = typeof url === "string" ? new URL(url) : url;
  if (parsed.protocol !== "file:") throw Object.assign(new TypeError("The URL must be of scheme file"), { code: "ERR_INVALID_URL_SCHEME" });
  return percentDecode(parsed.pathname);
}

export function pathToFileURL(path) {
  const tail = path.endsWith("/") ? "/" : "";
  const full = resolvePath(path) + (tail && path !== "/" ? tail : "");
  const url = new URL("file:///");
  url.pathname = full.replaceAll("%", "%25").replaceAll("\\", "%5C").replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll("\t", "%09").replaceAll("?", "%3F").replaceAll("#", "%23");
  return url;
}

export function parse(text, withQuery = false) {
  const url = URL.parse(text) ?? URL.parse(text, "relative://");
  const relative = url?.protocol === "relative:";
  const query = url?.search.slice(1) ?? null;
  return {
    href: text, protocol: relative ? null : url.protocol, host: relative ? null : url.host, hostname: relative ? null : url.hostname,
    port: relative ? null : url.port || null, pathname: url.pathname, search: url.search || null, hash: url.hash || null,
    query: withQuery ? Object.fromEntries(url.searchParams) : query, auth: url.username ? `${url.username}${url.password ? `:${url.password}` : ""}` : null,
    path: url.pathname + url.search, slashes: !relative,
  };
}

export const format = (url) =>
  typeof url === "string" ? url : url.href ?? `${url.protocol ?? ""}${url.slashes === false ? "" : "//"}${url.host ?? `${url.hostname ?? ""}${url.port ? `:${url.port}` : ""}`}${url.pathname ?? ""}${url.search ?? queryOf(url)}${url.hash ?? ""}`;
const queryOf = ({ query }) => {
  const text = typeof query === "string" ? query : query ? new URLSearchParams(query).toString() : "";
  return text && `?${text}`;
};
/** An address as seen from another, both of which may be without a host. */
export function resolve(from, to) {
  const url = new URL(to, new URL(from, "relative://none"));
  return url.protocol === "relative:" ? url.pathname + url.search + url.hash : url.href;
}
export const domainToASCII = (name) => name.toLowerCase();
export const domainToUnicode = (name) => name.toLowerCase();
export const urlToHttpOptions = (url) => ({ protocol: url.protocol, hostname: url.hostname, port: url.port, path: url.pathname + url.search, href: url.href });

export { URL, URLSearchParams };
// Names of the real module that are not implemented.
export const {
  Url, resolveObject,
} = withStubs("node:url");
export default { URL, URLSearchParams, fileURLToPath, pathToFileURL, parse, format, resolve, domainToASCII, domainToUnicode, urlToHttpOptions };
