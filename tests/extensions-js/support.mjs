// What the behaviour tests share: an engine with one example loaded, in a folder of its own.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { folder } from "./folder.mjs";
import { Engine, HAS_TYPESCRIPT } from "./engine.mjs";
import { EXAMPLES, HAS_EXAMPLES, exampleUnits } from "./examples.mjs";

export const CAN_RUN = HAS_EXAMPLES && HAS_TYPESCRIPT;

export { folder };

/** A folder that is a git repository with one commit. */
export function repository() {
  const cwd = folder();
  const git = (...args) => execFileSync("git", args, { cwd, encoding: "utf8" });
  git("init", "-q");
  git("config", "user.email", "t@example.org");
  git("config", "user.name", "T");
  fs.writeFileSync(path.join(cwd, "a.txt"), "one\n");
  git("add", "-A");
  git("commit", "-qm", "first");
  return { cwd, git };
}

export const assistant = (text) => ({ type: "message", message: { role: "assistant", content: [{ type: "text", text }], stopReason: "stop", usage: {} } });
export const user = (text) => ({ type: "message", message: { role: "user", content: [{ type: "text", text }] } });

/** A test of one example: `run(engine, host, cwd)` after it loaded. */
export function example(name, options, run) {
  if (typeof options === "function") [run, options] = [options, {}];
  test(name, { skip: !CAN_RUN && "the examples are not installed" }, async () => {
    const engine = await Engine.start({ cwd: options.cwd ?? folder(), env: options.env });
    try {
      const unit = exampleUnits(EXAMPLES).find((entry) => entry.name === name);
      if (options.before) await options.before(engine, engine.host);
      const { error } = await engine.load(options.file ?? unit.file);
      if (error) throw new Error(`${error.message}\n${error.stack}`);
      await run(engine, engine.host, engine.host.cwd);
      if (engine.host.reports.length && !options.reports) throw new Error(`reported: ${JSON.stringify(engine.host.reports[0])}`);
    } finally {
      engine.stop();
    }
  });
}

/** Answers dialogs from a list, one each. */
export const answers = (...list) => () => list.shift();
export const messages = (host) => host.notices.map((notice) => notice.message);
export const sent = (host, name) => host.actions.filter((entry) => entry.name === name).map((entry) => entry.args);
