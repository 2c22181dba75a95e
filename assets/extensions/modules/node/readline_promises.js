// node:readline/promises.

import { Interface, promises } from "./readline.js";

export const { createInterface } = promises;
export { Interface };
export default promises;
