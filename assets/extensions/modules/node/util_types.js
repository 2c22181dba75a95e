// node:util/types.

import { withStubs } from "../stubs.js";
import { types } from "./util.js";

export const {
  isPromise, isDate, isRegExp, isMap, isSet, isWeakMap, isWeakSet, isNativeError, isTypedArray, isUint8Array, isArrayBuffer, isAnyArrayBuffer,
  isArrayBufferView, isDataView, isAsyncFunction, isGeneratorFunction, isGeneratorObject, isProxy, isBoxedPrimitive, isSymbolObject,
} = types;
// Names of the real module that are not implemented.
export const {
  isArgumentsObject, isBigInt64Array, isBigIntObject, isBigUint64Array, isBooleanObject, isCryptoKey, isExternal, isFloat32Array,
  isFloat64Array, isInt16Array, isInt32Array, isInt8Array, isKeyObject, isMapIterator, isModuleNamespaceObject, isNumberObject,
  isSetIterator, isSharedArrayBuffer, isStringObject, isUint16Array, isUint32Array, isUint8ClampedArray,
} = withStubs("node:util/types");
export default types;
