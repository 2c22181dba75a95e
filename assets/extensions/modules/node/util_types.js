// node:util/types.

import { types } from "./util.js";

export const {
  isPromise, isDate, isRegExp, isMap, isSet, isWeakMap, isWeakSet, isNativeError, isTypedArray, isUint8Array, isArrayBuffer, isAnyArrayBuffer,
  isArrayBufferView, isDataView, isAsyncFunction, isGeneratorFunction, isGeneratorObject, isProxy, isBoxedPrimitive, isSymbolObject,
} = types;
export default types;
