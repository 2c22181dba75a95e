// node:cluster is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:cluster", "an extension has one process");
export const {
  fork, isMaster, isPrimary,
} = absent;
export const {
  SCHED_NONE, SCHED_RR, Worker, _events, _eventsCount, _maxListeners, disconnect, isWorker, schedulingPolicy, settings, setupMaster,
  setupPrimary, workers,
} = absent;
export default absent;
