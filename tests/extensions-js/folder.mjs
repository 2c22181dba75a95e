// Folders of tests, which are gone when the process ends.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const made = [];
process.on("exit", () => made.forEach((folder) => fs.rmSync(folder, { recursive: true, force: true })));

export function folder() {
  const one = fs.mkdtempSync(path.join(os.tmpdir(), "levain-js-"));
  made.push(one);
  return one;
}
