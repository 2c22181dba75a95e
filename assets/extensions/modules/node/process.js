// node:process: the global object, by name.

import { process } from "../../runtime/process.js";

export const {
  env, argv, argv0, execArgv, execPath, title, pid, ppid, platform, arch, version, versions, release, stdout, stderr, stdin, cwd, chdir, exit, abort,
  kill, nextTick, hrtime, uptime, memoryUsage, cpuUsage, umask, getuid, geteuid, getgid, emitWarning, on, once, off, removeListener, emit, listeners,
} = process;
export default process;
