// node:async_hooks. The engine does not carry a context across `await`; `run` holds for the
// synchronous part only, which is what most libraries that ask for it survive.

import { withStubs } from "../stubs.js";

export class AsyncLocalStorage {
  #store;
  run(store, work, ...args) {
    const before = this.#store;
    this.#store = store;
    try {
      return work(...args);
    } finally {
      this.#store = before;
    }
  }
  exit(work, ...args) {
    return this.run(undefined, work, ...args);
  }
  getStore() {
    return this.#store;
  }
  enterWith(store) {
    this.#store = store;
  }
  disable() {
    this.#store = undefined;
  }
  static bind(work) {
    return work;
  }
  static snapshot() {
    return (work, ...args) => work(...args);
  }
}
export class AsyncResource {
  constructor(type) {
    this.type = type;
  }
  runInAsyncScope(work, self, ...args) {
    return work.apply(self, args);
  }
  bind(work, self) {
    return self === undefined ? work : work.bind(self);
  }
  static bind(work, _type, self) {
    return self === undefined ? work : work.bind(self);
  }
  emitDestroy() {
    return this;
  }
  asyncId() {
    return 0;
  }
  triggerAsyncId() {
    return 0;
  }
}
export const executionAsyncId = () => 0;
export const createHook = () => ({ enable() {}, disable() {} });
// Names of the real module that are not implemented.
export const {
  asyncWrapProviders, executionAsyncResource, triggerAsyncId,
} = withStubs("node:async_hooks");
export default { AsyncLocalStorage, AsyncResource, executionAsyncId, createHook };
