// node:stream/web.

import { ReadableStream, TransformStream, WritableStream } from "../../runtime/streams.js";

export { ReadableStream, TransformStream, WritableStream };
export default { ReadableStream, TransformStream, WritableStream };
