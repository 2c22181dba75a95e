// node:constants: the old home of the numbers in fs and os.

import { constants as files } from "./fs_sync.js";
import { constants as system } from "./os.js";

const all = { ...files, ...system.signals, ...system.errno };
export const { F_OK, R_OK, W_OK, X_OK, O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, SIGINT, SIGTERM, SIGKILL, ENOENT, EACCES, EEXIST } = all;
export default all;
