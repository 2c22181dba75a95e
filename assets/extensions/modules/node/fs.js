// node:fs: the synchronous calls of fs_sync.js, and their forms with a callback.

import { withStubs } from "../stubs.js";
import promises from "./fs_promises.js";
import {
  accessSync, appendFileSync, chmodSync, chownSync, closeSync, constants, copyFileSync, cpSync, createReadStream, createWriteStream,
  Dirent, existsSync, fdatasyncSync, fstatSync, FSWatcher, fsyncSync, ftruncateSync, globSync, linkSync, lstatSync, mkdirSync, mkdtempSync,
  openSync, readdirSync, readFileSync, readlinkSync, readSync, realpathSync, renameSync, rmdirSync, rmSync, Stats, statSync, symlinkSync,
  truncateSync, unlinkSync, unwatchFile, utimesSync, watch, watchFile, writeFileSync, writeSync,
} from "./fs_sync.js";

export * from "./fs_sync.js";

const later = (work) =>
  function (...args) {
    const done = args.pop();
    if (typeof done !== "function") throw Object.assign(new TypeError('The "cb" argument must be of type function.'), { code: "ERR_INVALID_ARG_TYPE" });
    Promise.resolve()
      .then(() => work(...args))
      .then((value) => globalThis.setTimeout(() => done(null, value), 0), (error) => globalThis.setTimeout(() => done(error), 0));
  };

export const readFile = later(readFileSync);
export const writeFile = later(writeFileSync);
export const appendFile = later(appendFileSync);
export const mkdir = later(mkdirSync);
export const mkdtemp = later(mkdtempSync);
export const readdir = later(readdirSync);
export const stat = later(statSync);
export const lstat = later(lstatSync);
export const rm = later(rmSync);
export const rmdir = later(rmdirSync);
export const unlink = later(unlinkSync);
export const rename = later(renameSync);
export const copyFile = later(copyFileSync);
export const cp = later(cpSync);
export const access = later(accessSync);
export const realpath = later(realpathSync);
export const readlink = later(readlinkSync);
export const symlink = later(symlinkSync);
export const chmod = later(chmodSync);
export const utimes = later(utimesSync);
export const chown = later(chownSync);
export const link = later(linkSync);
export const truncate = later(truncateSync);
export const fstat = later(fstatSync);
export const fsync = later(fsyncSync);
export const fdatasync = later(fdatasyncSync);
export const ftruncate = later(ftruncateSync);
/** These tell the bytes, too. */
const withBytes = (work) => (...args) => {
  const done = args.pop();
  let [count, error] = [0, null];
  try {
    count = work(...args);
  } catch (problem) {
    error = problem;
  }
  globalThis.setTimeout(() => done(error, count, args[1]), 0);
};
export const read = withBytes(readSync);
export const write = withBytes(writeSync);
const open_ = later(openSync);
export const close = later(closeSync);
export const exists = (path, done) => done(existsSync(path));

export { promises };
const api = {
  constants, F_OK: constants.F_OK, R_OK: constants.R_OK, W_OK: constants.W_OK, X_OK: constants.X_OK, Stats, Dirent, FSWatcher, promises, existsSync, readFileSync, writeFileSync, appendFileSync, mkdirSync, mkdtempSync,
  rmdirSync, rmSync, unlinkSync, renameSync, copyFileSync, symlinkSync, linkSync, readlinkSync, chmodSync, chownSync, utimesSync, truncateSync,
  accessSync, realpathSync, statSync, lstatSync, readdirSync, cpSync, globSync, openSync, closeSync, fsyncSync, fdatasyncSync, readSync, writeSync,
  fstatSync, ftruncateSync, watch, watchFile, unwatchFile, createReadStream, createWriteStream, readFile, writeFile, appendFile, mkdir, mkdtemp,
  readdir, stat, lstat, rm, rmdir, unlink, rename, copyFile, cp, access, realpath, readlink, symlink, chmod, utimes, open: open_, close, exists, chown, link, truncate, fstat, fsync, fdatasync, ftruncate, read, write,
};
export { open_ as open };
// Names of the real module that are not implemented.
export const {
  Dir, FileReadStream, FileWriteStream, ReadStream, WriteStream, _toUnixTimestamp, fchmod, fchmodSync, fchown, fchownSync,
  futimes, futimesSync, lchmod, lchmodSync, lchown, lchownSync, lutimes, lutimesSync, openAsBlob,
  opendir, opendirSync, readv, readvSync, statfs, statfsSync, writev, writevSync,
} = withStubs("node:fs");
export default api;
