// node:trace_events is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:trace_events");
export const {
  createTracing, getEnabledCategories,
} = absent;
export default absent;
