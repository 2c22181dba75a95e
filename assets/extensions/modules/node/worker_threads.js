// node:worker_threads is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:worker_threads", "an extension has one thread");
export const isMainThread = true;
export const { Worker, parentPort, threadId, workerData } = absent;
export const {
  BroadcastChannel, MessageChannel, MessagePort, SHARE_ENV, getEnvironmentData, markAsUntransferable, moveMessagePortToContext,
  postMessageToThread, receiveMessageOnPort, resourceLimits, setEnvironmentData,
} = absent;
export default absent;
