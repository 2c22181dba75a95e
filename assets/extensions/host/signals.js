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

/** The host is done with the signal and will not fire it any more. */
export const releaseSignal = (id) => controllers.delete(id);
