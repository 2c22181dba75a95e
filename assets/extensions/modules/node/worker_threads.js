// node:worker_threads: an extension has one thread. The questions have answers; starting one throws.

import { absentModule } from "./absent.js";
import { MessageChannel, MessagePort } from "../../runtime/messages.js";

export { MessageChannel, MessagePort };

const absent = absentModule("node:worker_threads", "an extension has one thread");
export const isMainThread = true;
export const parentPort = null;
export const workerData = null;
export const threadId = 0;
export const resourceLimits = {};
export const SHARE_ENV = Symbol.for("nodejs.worker_threads.SHARE_ENV");
// Marks without effect: nothing is sent to another thread.
export const markAsUncloneable = () => {};
export const markAsUntransferable = () => {};
export const isMarkedAsUntransferable = () => false;
export const getEnvironmentData = () => undefined;
export const setEnvironmentData = () => {};
export const { BroadcastChannel, Worker, moveMessagePortToContext, postMessageToThread, receiveMessageOnPort } = absent;
export default {
  isMainThread, parentPort, workerData, threadId, resourceLimits, SHARE_ENV, markAsUncloneable, markAsUntransferable, isMarkedAsUntransferable,
  getEnvironmentData, setEnvironmentData, BroadcastChannel, MessageChannel, MessagePort, Worker, moveMessagePortToContext, postMessageToThread,
  receiveMessageOnPort,
};
