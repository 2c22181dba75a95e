// node:process: the global object, by name.

import { withStubs } from "../stubs.js";
import { process } from "../../runtime/process.js";

export const {
  env, argv, argv0, execArgv, execPath, title, pid, ppid, platform, arch, version, versions, release, stdout, stderr, stdin, cwd, chdir, exit, abort,
  kill, nextTick, hrtime, uptime, memoryUsage, cpuUsage, umask, getuid, geteuid, getgid, emitWarning, on, once, off, removeListener, emit, listeners,
} = process;
// Names of the real module that are not implemented.
export const {
  _debugEnd, _debugProcess, _events, _eventsCount, _exiting, _fatalException, _getActiveHandles, _getActiveRequests, _kill, _linkedBinding,
  _maxListeners, _preload_modules, _rawDebug, _startProfilerIdleNotifier, _stopProfilerIdleNotifier, _tickCallback,
  allowedNodeEnvironmentFlags, assert, availableMemory, binding, config, constrainedMemory, debugPort, dlopen, domain, exitCode, features,
  getActiveResourcesInfo, getBuiltinModule, getegid, getgroups, hasUncaughtExceptionCaptureCallback, initgroups, loadEnvFile,
  moduleLoadList, openStdin, reallyExit, report, resourceUsage, setSourceMapsEnabled, setUncaughtExceptionCaptureCallback, setegid,
  seteuid, setgid, setgroups, setuid, sourceMapsEnabled,
} = withStubs("node:process");
export default process;
