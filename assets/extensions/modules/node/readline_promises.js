// node:readline/promises.

import { withStubs } from "../stubs.js";
import { Interface, promises } from "./readline.js";

export const { createInterface } = promises;
export { Interface };
// Names of the real module that are not implemented.
export const {
  Readline,
} = withStubs("node:readline/promises");
export default promises;
