// node:v8 is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:v8", "the engine is another one");
export const {
  deserialize, getHeapStatistics, serialize,
} = absent;
export const {
  DefaultDeserializer, DefaultSerializer, Deserializer, GCProfiler, Serializer, cachedDataVersionTag, getHeapCodeStatistics,
  getHeapSnapshot, getHeapSpaceStatistics, promiseHooks, queryObjects, setFlagsFromString, setHeapSnapshotNearHeapLimit, startupSnapshot,
  stopCoverage, takeCoverage, writeHeapSnapshot,
} = absent;
export default absent;
