// Abort signals that cross the boundary as numbers. The host names one in what it passes in and calls
// `abort` when it fires; a number that already fired gives an aborted signal.

import { AbortController } from "../runtime/events.js";
import { DOMException } from "../runtime/errors.js";

const controllers = new Map();

export function signalFor(id) {
  if (id === undefined || id === null) return undefined;
  let controller = controllers.get(id);
  if (!controller) {
    controller = new AbortController();
    controllers.set(id, controller);
  }
  return controller.signal;
}

export function abort(id, reason) {
  void signalFor(id);
  controllers.get(id).abort(new DOMException(reason ?? "This operation was aborted", "AbortError"));
}

// Events of a turn, in which what is waited for ends with the turn.
const OF_A_TURN = new Set([
  "agent_start", "turn_start", "context", "before_provider_request", "message_start", "message_update", "message_end",
  "tool_execution_start", "tool_execution_update", "tool_execution_end", "tool_call", "tool_result", "turn_end",
]);
let inTurn = false;
let turn;

/** An event is told: whether a turn is on. */
export function follow(event) {
  const now = OF_A_TURN.has(event);
  if (now && !inTurn) turn = undefined;
  inTurn = now;
}

/** Fires when a handler of the turn is given up; undefined between turns. */
export function turnSignal() {
  if (!inTurn) return undefined;
  turn ??= new AbortController();
  return turn.signal;
}

/** The turn is stopped. */
export function abortTurn(reason) {
  const stopped = turn;
  turn = undefined;
  stopped?.abort(new DOMException(reason ?? "This operation was aborted", "AbortError"));
}

// Calls that somebody waits for, of whom: what is begun in one ends where it is given up.
const running = new Set();

export async function during(owner, signal, work) {
  const call = { owner, signal };
  if (signal) running.add(call);
  try {
    return await work();
  } finally {
    running.delete(call);
  }
}

/** Those of an extension that run now. */
export const signalsOf = (owner) => [...running].filter((call) => call.owner === owner).map((call) => call.signal);

/** The host is done with the signal and will not fire it any more. */
export const releaseSignal = (id) => controllers.delete(id);
