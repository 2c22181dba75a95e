// node:os: facts about the machine, from the host.

import { info } from "../../runtime/bridge.js";

export const EOL = "\n";
export const devNull = "/dev/null";
export const homedir = () => globalThis.process.env.HOME ?? info.homedir ?? "/";
export const tmpdir = () => (globalThis.process.env.TMPDIR ?? info.tmpdir ?? "/tmp").replace(/(.)\/$/, "$1");
export const hostname = () => info.hostname ?? "localhost";
export const platform = () => info.platform ?? "linux";
export const arch = () => info.arch ?? "x64";
export const machine = () => (arch() === "x64" ? "x86_64" : arch() === "arm64" ? "aarch64" : arch());
export const type = () => ({ darwin: "Darwin", win32: "Windows_NT" })[platform()] ?? "Linux";
export const release = () => info.osRelease ?? "0";
export const version = release;
export const endianness = () => "LE";
export const cpus = () => Array.from({ length: info.cpus ?? 1 }, () => ({ model: "cpu", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }));
export const availableParallelism = () => info.cpus ?? 1;
export const totalmem = () => info.totalMemory ?? 0;
export const freemem = () => info.totalMemory ?? 0;
export const uptime = () => 0;
export const loadavg = () => [0, 0, 0];
export const networkInterfaces = () => ({});
export const userInfo = () => ({ username: info.username ?? globalThis.process.env.USER ?? "user", uid: info.uid ?? 1000, gid: info.gid ?? 1000, shell: globalThis.process.env.SHELL ?? "/bin/sh", homedir: homedir() });
export const getPriority = () => 0;
export const setPriority = () => {};
export const constants = {
  signals: { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGKILL: 9, SIGUSR1: 10, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCONT: 18, SIGSTOP: 19 },
  errno: { ENOENT: 2, EACCES: 13, EEXIST: 17 },
};
export default {
  EOL, devNull, homedir, tmpdir, hostname, platform, arch, machine, type, release, version, endianness, cpus, availableParallelism, totalmem,
  freemem, uptime, loadavg, networkInterfaces, userInfo, getPriority, setPriority, constants,
};
