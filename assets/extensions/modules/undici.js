// undici, which needs sockets and WebAssembly that are not to be had: its fetch is the host's own. What steers connections
// there steers nothing here, but for a proxy, which is refused: a request would go to somewhere else than it was meant to.

const { fetch, Headers, Request, Response, FormData, File } = globalThis;

class Dispatcher {
  #closed = false;
  constructor(options) {
    this.options = options;
  }
  get closed() {
    return this.#closed;
  }
  get destroyed() {
    return this.#closed;
  }
  async close() {
    this.#closed = true;
  }
  async destroy() {
    this.#closed = true;
  }
  compose() {
    return this;
  }
  dispatch() {
    throw new Error("dispatch of undici is not available to extensions in levain; use fetch");
  }
  on() {
    return this;
  }
  off() {
    return this;
  }
  once() {
    return this;
  }
}

class Agent extends Dispatcher {}
class Pool extends Dispatcher {}
class BalancedPool extends Dispatcher {}
class Client extends Dispatcher {}
class RetryAgent extends Dispatcher {}
// As every request does here, it goes by no proxy of the environment.
class EnvHttpProxyAgent extends Dispatcher {}

class ProxyAgent extends Dispatcher {
  constructor() {
    super();
    throw new Error("a proxy of an extension's own is not available in levain");
  }
}

let dispatcher = new Agent();
const getGlobalDispatcher = () => dispatcher;
const setGlobalDispatcher = (other) => {
  dispatcher = other;
};

/** The older interface: the status and headers at once, the body by itself. */
async function request(url, { method, headers, body, signal, query } = {}) {
  const address = new URL(url);
  for (const [name, value] of Object.entries(query ?? {})) address.searchParams.append(name, value);
  const response = await fetch(address.href, { method, headers, body, signal, redirect: "manual" });
  return { statusCode: response.status, headers: Object.fromEntries(response.headers), trailers: {}, opaque: null, context: {}, body: asBody(response) };
}

function asBody(response) {
  const stream = response.body;
  const read = (kind) => () => response[kind]();
  const kinds = Object.fromEntries(["text", "json", "arrayBuffer", "blob"].map((kind) => [kind, read(kind)]));
  return {
    ...kinds,
    bytes: async () => new Uint8Array(await response.arrayBuffer()),
    dump: async () => void (await response.arrayBuffer()),
    async *[Symbol.asyncIterator]() {
      if (stream) yield* stream;
    },
  };
}

const unchanged = () => (dispatch) => dispatch;
const interceptors = Object.fromEntries(["cache", "decompress", "dns", "dump", "redirect", "retry"].map((name) => [name, unchanged]));

class UndiciError extends Error {}
const errors = { UndiciError };
const install = () => {};

export {
  Agent, BalancedPool, Client, Dispatcher, EnvHttpProxyAgent, File, FormData, Headers, Pool, ProxyAgent, Request, Response, RetryAgent,
  errors, fetch, getGlobalDispatcher, install, interceptors, request, setGlobalDispatcher,
};
export default {
  Agent, BalancedPool, Client, Dispatcher, EnvHttpProxyAgent, File, FormData, Headers, Pool, ProxyAgent, Request, Response, RetryAgent,
  errors, fetch, getGlobalDispatcher, install, interceptors, request, setGlobalDispatcher,
};
