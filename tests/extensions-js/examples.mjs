// Where the example extensions are: the folder named by LEVAIN_PI_EXAMPLES, or nowhere.

import fs from "node:fs";
import path from "node:path";

export const EXAMPLES = process.env.LEVAIN_PI_EXAMPLES;
export const HAS_EXAMPLES = Boolean(EXAMPLES && fs.existsSync(EXAMPLES));

export function exampleUnits(folder = EXAMPLES) {
  const units = [];
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith(".ts")) units.push({ name: entry.name.slice(0, -3), file: path.join(folder, entry.name) });
    else if (entry.isDirectory() && fs.existsSync(path.join(folder, entry.name, "index.ts"))) units.push({ name: entry.name, file: path.join(folder, entry.name, "index.ts") });
  }
  return units.sort((a, b) => (a.name < b.name ? -1 : 1));
}
