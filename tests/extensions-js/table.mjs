// Loads every example extension of the published package and prints what each registered.
//
// node --experimental-vm-modules tests/extensions-js/table.mjs FOLDER

import { Engine } from "./engine.mjs";
import { exampleUnits } from "./examples.mjs";

const engine = await Engine.start();
let loaded = 0;
const units = exampleUnits(process.argv[2] ?? process.env.LEVAIN_PI_EXAMPLES);
for (const { name, file } of units) {
  const { extension, error } = await engine.load(file);
  if (error) console.log(`${name.padEnd(30)} REFUSED ${error.message.split("\n")[0]}${process.env.STACK ? `\n${error.stack}` : ""}`);
  else {
    loaded++;
    const count = (label, list) => (list.length ? ` ${list.length} ${label}` : "");
    const events = Object.values(extension.events).reduce((sum, n) => sum + n, 0);
    console.log(`${name.padEnd(30)} loaded  ${events} handlers${count("tools", extension.tools)}${count("commands", extension.commands)}${count("flags", extension.flags)}${count("shortcuts", extension.shortcuts)}${count("providers", extension.providers)}${count("renderers", extension.messageRenderers)}`);
  }
}
console.log(`${loaded} of ${units.length} loaded`);
engine.stop();
process.exit(0);
