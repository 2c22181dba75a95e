// node:perf_hooks.

import { withStubs } from "../stubs.js";

export const performance = globalThis.performance;
export const constants = {};
export class PerformanceObserver {
  observe() {}
  disconnect() {}
}
// Names of the real module that are not implemented.
export const {
  Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserverEntryList, PerformanceResourceTiming,
  createHistogram, monitorEventLoopDelay,
} = withStubs("node:perf_hooks");
export default { performance, constants, PerformanceObserver };
