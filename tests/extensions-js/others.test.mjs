// Extensions nobody here wrote or has seen: each file that LEVAIN_OTHER_EXTENSIONS names (separated by ":")
// must load and live through the start of a session, in the bare context and in the real engine.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import test from "node:test";
import { ASSETS } from "./engine.mjs";
import { QuickJsEngine, quickJs } from "./quickjs.mjs";

const files = (process.env.LEVAIN_OTHER_EXTENSIONS ?? "").split(":").filter(Boolean);
const module = files.length > 0 ? await quickJs() : undefined;
if (module) {
  globalThis.__levainHost = { info: () => ({}), now: () => 0, cwd: () => "/" };
  QuickJsEngine.prototype.resolver = await import(path.join(ASSETS, "loader/resolve.js"));
}

for (const file of files) {
  const name = file.split("/node_modules/").at(-1);
  // In a process of its own: a package may lose promises over what is not there, such as WebAssembly.
  test(name, () => {
    const run = spawnSync(process.execPath, ["--no-warnings", "--experimental-vm-modules", path.join(ASSETS, "../../tests/extensions-js/run.mjs"), file], { encoding: "utf8" });
    assert.equal(JSON.parse(run.stdout).error, null, run.stderr);
  });
  test(`${name}, in the real engine`, { skip: !module && "the engine is not installed" }, async () => {
    const engine = new QuickJsEngine(module);
    try {
      assert.equal((await engine.load(file)).error?.message, undefined);
      const { records } = await engine.wait('api.announceSession({ reason: "startup" })');
      assert.deepEqual(records.filter((record) => record.error).map((record) => record.error.message), []);
    } finally {
      engine.stop();
    }
  });
}
test("others", { skip: files.length === 0 && "LEVAIN_OTHER_EXTENSIONS names none" }, () => {});
