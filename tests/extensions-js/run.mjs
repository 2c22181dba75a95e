// Runs one command of one extension in a process of its own, with the tracker for lost promises that an
// embedder has, and prints what came of it as JSON. Without a command a session starts.
//
// node --experimental-vm-modules tests/extensions-js/run.mjs FILE [COMMAND [ARGS]]

import { Engine, sleep } from "./engine.mjs";

const [file, command, args = ""] = process.argv.slice(2);
const engine = await Engine.start();
process.on("unhandledRejection", (reason) => engine.api.unhandledRejection(reason));
const { error } = await engine.load(file);
const start = async () => (await engine.dispatch("session_start", { reason: "startup" })).records.find((record) => record.error)?.error;
const answer = error ?? (command ? (await engine.command(command, args)).error : await start()) ?? null;
await sleep(50);
const { notices, reports, places } = engine.host;
console.log(JSON.stringify({ error: answer, notices, reports, open: places.size }));
process.exit(0);
