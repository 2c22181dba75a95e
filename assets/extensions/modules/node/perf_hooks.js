// node:perf_hooks.

export const performance = globalThis.performance;
export const constants = {};
export class PerformanceObserver {
  observe() {}
  disconnect() {}
}
export default { performance, constants, PerformanceObserver };
