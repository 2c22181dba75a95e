// node:fs/promises: the synchronous calls of fs_sync.js, answered a turn later, so that their errors
// arrive as rejections. The host's file calls are short; none of them waits on a person.

import { withStubs } from "../stubs.js";
import * as fs from "./fs_sync.js";

const promised = (name) => (...args) => Promise.resolve().then(() => fs[name](...args));

export const readFile = promised("readFileSync");
export const writeFile = promised("writeFileSync");
export const appendFile = promised("appendFileSync");
export const mkdir = promised("mkdirSync");
export const mkdtemp = promised("mkdtempSync");
export const readdir = promised("readdirSync");
export const stat = promised("statSync");
export const lstat = promised("lstatSync");
export const rm = promised("rmSync");
export const rmdir = promised("rmdirSync");
export const unlink = promised("unlinkSync");
export const rename = promised("renameSync");
export const copyFile = promised("copyFileSync");
export const cp = promised("cpSync");
export const access = promised("accessSync");
export const realpath = promised("realpathSync");
export const readlink = promised("readlinkSync");
export const symlink = promised("symlinkSync");
export const chmod = promised("chmodSync");
export const utimes = promised("utimesSync");
export const truncate = promised("truncateSync");

export async function* glob(pattern, options) {
  yield* fs.globSync(pattern, options);
}

export async function* watch(path, options = {}) {
  const queue = [];
  let wake = () => {};
  const watcher = fs.watch(path, options, (eventType, filename) => {
    queue.push({ eventType, filename });
    wake();
  });
  try {
    for (;;) {
      options.signal?.throwIfAborted();
      while (queue.length > 0) yield queue.shift();
      await new Promise((resolve) => {
        wake = resolve;
        options.signal?.addEventListener("abort", resolve, { once: true });
      });
    }
  } finally {
    watcher.close();
  }
}

export async function open(path, flags, mode) {
  const fd = fs.openSync(path, flags, mode);
  return {
    fd,
    read: async (buffer, ...rest) => ({ bytesRead: fs.readSync(fd, buffer, ...rest), buffer }),
    write: async (data, ...rest) => ({ bytesWritten: fs.writeSync(fd, data, ...rest), buffer: data }),
    readFile: async (options) => fs.readFileSync(fd, options),
    writeFile: async (data) => void fs.writeSync(fd, data),
    appendFile: async (data) => void fs.writeSync(fd, data),
    stat: async () => fs.fstatSync(fd),
    sync: async () => fs.fsyncSync(fd),
    truncate: async (length) => fs.ftruncateSync(fd, length),
    close: async () => fs.closeSync(fd),
  };
}

const api = {
  readFile, writeFile, appendFile, mkdir, mkdtemp, readdir, stat, lstat, rm, rmdir, unlink, rename, copyFile, cp, access, realpath, readlink,
  symlink, chmod, utimes, truncate, glob, watch, open,
};
export const { constants } = fs;
api.constants = constants;
// Names of the real module that are not implemented.
export const {
  chown, lchmod, lchown, link, lutimes, opendir, statfs,
} = withStubs("node:fs/promises");
export default api;
