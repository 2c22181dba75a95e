// node:net without sockets: the questions about addresses, which libraries ask at load.

import { absentModule } from "./absent.js";

const absent = absentModule("node:net", "sockets are not offered");

function ipv4(text) {
  const parts = String(text).split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return undefined;
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function ipv6(text) {
  let source = String(text).replace(/%.*$/, "");
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(source);
  if (tail) {
    const value = ipv4(tail[2]);
    if (value === undefined) return undefined;
    source = `${tail[1]}${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
  }
  const halves = source.split("::");
  if (halves.length > 2) return undefined;
  const groups = (half) => (half === "" || half === undefined ? [] : half.split(":"));
  const [head, rest] = [groups(halves[0]), groups(halves[1])];
  const missing = 8 - head.length - rest.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const all = [...head, ...Array.from({ length: missing }, () => "0"), ...rest];
  if (!all.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return all.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n);
}

export const isIPv4 = (text) => ipv4(text) !== undefined;
export const isIPv6 = (text) => ipv6(text) !== undefined;
export const isIP = (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0);

export class BlockList {
  #ranges = [];
  get rules() {
    return this.#ranges.map(({ label }) => label);
  }
  #add(low, high, kind, label) {
    this.#ranges.push({ low, high, kind, label });
  }
  addAddress(address, kind = "ipv4") {
    const value = number(address, kind);
    this.#add(value, value, kind, `Address: ${address}`);
  }
  addRange(from, to, kind = "ipv4") {
    this.#add(number(from, kind), number(to, kind), kind, `Range: ${from}-${to}`);
  }
  addSubnet(net, prefix, kind = "ipv4") {
    const free = BigInt((kind === "ipv4" ? 32 : 128) - prefix);
    const low = (number(net, kind) >> free) << free;
    this.#add(low, low + (1n << free) - 1n, kind, `Subnet: ${net}/${prefix}`);
  }
  check(address, kind = "ipv4") {
    const value = (kind === "ipv4" ? ipv4 : ipv6)(address);
    return value !== undefined && this.#ranges.some((range) => range.kind === kind && value >= range.low && value <= range.high);
  }
}

function number(address, kind) {
  const value = (kind === "ipv4" ? ipv4 : ipv6)(address);
  if (value === undefined) throw Object.assign(new TypeError(`Invalid address: ${address}`), { code: "ERR_INVALID_ADDRESS" });
  return value;
}

export const { Server, Socket, SocketAddress, connect, createConnection, createServer } = absent;
export const {
  Stream, _createServerHandle, _normalizeArgs, _setSimultaneousAccepts, getDefaultAutoSelectFamily,
  getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamily, setDefaultAutoSelectFamilyAttemptTimeout,
} = absent;
export default { isIP, isIPv4, isIPv6, BlockList, Server, Socket, SocketAddress, connect, createConnection, createServer };
