// One agent's turns: a model is asked, the tools that it calls are run, until it calls none and nothing waits to be said.
//
// What happens is told by events in an order that listeners rely on; each is awaited before the next.

import { EventStream, stream } from "../pi-ai/stream.js";
import { validateToolArguments } from "../pi-ai/json.js";

const failure = (problem) => ({ content: [{ type: "text", text: problem instanceof Error ? problem.message : String(problem) }], details: {} });

/** What comes of a model that is asked, as a message; `context.messages` has it at its end. */
async function askModel(context, config, signal, emit, streamFn) {
  const { messages } = context;
  const shown = config.transformContext ? await config.transformContext(messages, signal) : messages;
  const request = { systemPrompt: context.systemPrompt, messages: await config.convertToLlm(shown), tools: context.tools };
  const apiKey = (await config.getApiKey?.(config.model.provider)) || config.apiKey;
  const answer = await (streamFn ?? stream)(config.model, request, { ...config, apiKey, signal });
  let begun = false;
  const put = async (message) => {
    if (begun) messages[messages.length - 1] = message;
    else {
      messages.push(message);
      await emit({ type: "message_start", message: { ...message } });
      begun = true;
    }
  };
  for await (const event of answer) {
    if (event.type === "done" || event.type === "error") break;
    if (event.type === "start") await put(event.partial);
    else if (begun) {
      messages[messages.length - 1] = event.partial;
      await emit({ type: "message_update", assistantMessageEvent: event, message: { ...event.partial } });
    }
  }
  const message = await answer.result();
  await put(message);
  await emit({ type: "message_end", message });
  return message;
}

/** A call up to where it could be run: `{ tool, args }`, or `{ refused }` with the result that says why it is not. */
async function prepare(call, message, context, config, signal) {
  const tool = context.tools?.find(({ name }) => name === call.name);
  if (!tool) return { refused: failure(`Tool ${call.name} not found`) };
  try {
    const asked = tool.prepareArguments ? { ...call, arguments: tool.prepareArguments(call.arguments) } : call;
    const args = validateToolArguments(tool, asked);
    const verdict = await config.beforeToolCall?.({ assistantMessage: message, toolCall: call, args, context }, signal);
    return verdict?.block ? { refused: failure(verdict.reason || "Tool execution was blocked") } : { tool, args };
  } catch (problem) {
    return { refused: failure(problem) };
  }
}

async function run({ tool, args }, call, message, context, config, signal, emit) {
  const told = [];
  const onUpdate = (partialResult) => {
    told.push(Promise.resolve(emit({ type: "tool_execution_update", toolCallId: call.id, toolName: call.name, args: call.arguments, partialResult })));
  };
  let result;
  let isError = false;
  try {
    result = await tool.execute(call.id, args, signal, onUpdate);
  } catch (problem) {
    [result, isError] = [failure(problem), true];
  }
  await Promise.all(told);
  try {
    const after = await config.afterToolCall?.({ assistantMessage: message, toolCall: call, args, result, isError, context }, signal);
    if (after) {
      result = { content: after.content ?? result.content, details: after.details ?? result.details, terminate: after.terminate ?? result.terminate };
      isError = after.isError ?? isError;
    }
  } catch (problem) {
    [result, isError] = [failure(problem), true];
  }
  return { result, isError };
}

/** The calls of a message, side by side unless one of them or the agent wants them one after the other. */
async function callTools(message, context, config, signal, emit) {
  const calls = message.content.filter(({ type }) => type === "toolCall");
  const inTurn = config.toolExecution === "sequential" || calls.some((call) => context.tools?.find(({ name }) => name === call.name)?.executionMode === "sequential");
  const ended = async (call, came) => {
    await emit({ type: "tool_execution_end", toolCallId: call.id, toolName: call.name, result: came.result, isError: came.isError });
    return came;
  };
  const told = async (call, { result, isError }) => {
    const said = { role: "toolResult", toolCallId: call.id, toolName: call.name, content: result.content, details: result.details, isError, timestamp: Date.now() };
    await emit({ type: "message_start", message: said });
    await emit({ type: "message_end", message: said });
    return said;
  };
  const results = [];
  const running = [];
  for (const call of calls) {
    await emit({ type: "tool_execution_start", toolCallId: call.id, toolName: call.name, args: call.arguments });
    const prepared = await prepare(call, message, context, config, signal);
    const go = async () => ended(call, prepared.refused ? { result: prepared.refused, isError: true } : await run(prepared, call, message, context, config, signal, emit));
    if (inTurn) {
      const came = await go();
      results.push({ came, said: await told(call, came) });
    } else if (prepared.refused) running.push(Promise.resolve(await go()));
    else running.push(go);
  }
  // Those that may run begin when all are known to.
  const all = await Promise.all(running.map((one) => (typeof one === "function" ? one() : one)));
  for (const [i, came] of all.entries()) results.push({ came, said: await told(calls[i], came) });
  return { messages: results.map(({ said }) => said), isLast: results.length > 0 && results.every(({ came }) => came.result.terminate === true) };
}

async function turns(context, all, config, signal, emit, streamFn) {
  let waiting = (await config.getSteeringMessages?.()) ?? [];
  let isFirst = true;
  for (;;) {
    let goesOn = true;
    while (goesOn || waiting.length > 0) {
      if (!isFirst) await emit({ type: "turn_start" });
      isFirst = false;
      for (const message of waiting) {
        await emit({ type: "message_start", message });
        await emit({ type: "message_end", message });
        context.messages.push(message);
        all.push(message);
      }
      const message = await askModel(context, config, signal, emit, streamFn);
      all.push(message);
      if (message.stopReason === "error" || message.stopReason === "aborted") {
        await emit({ type: "turn_end", message, toolResults: [] });
        return emit({ type: "agent_end", messages: all });
      }
      const { messages: toolResults, isLast } = await callTools(message, context, config, signal, emit);
      goesOn = toolResults.length > 0 && !isLast;
      context.messages.push(...toolResults);
      all.push(...toolResults);
      await emit({ type: "turn_end", message, toolResults });
      if (await config.shouldStopAfterTurn?.({ message, toolResults, context, newMessages: all })) return emit({ type: "agent_end", messages: all });
      waiting = (await config.getSteeringMessages?.()) ?? [];
    }
    waiting = (await config.getFollowUpMessages?.()) ?? [];
    if (waiting.length === 0) return emit({ type: "agent_end", messages: all });
  }
}

/** Says prompts and goes on to the end: the messages that came, those included. */
export async function runAgentLoop(prompts, context, config, emit, signal, streamFn) {
  const all = [...prompts];
  const own = { ...context, messages: [...context.messages, ...prompts] };
  await emit({ type: "agent_start" });
  await emit({ type: "turn_start" });
  for (const message of prompts) {
    await emit({ type: "message_start", message });
    await emit({ type: "message_end", message });
  }
  await turns(own, all, config, signal, emit, streamFn);
  return all;
}

/** The same with nothing said before: what is there already is answered. */
export async function runAgentLoopContinue(context, config, emit, signal, streamFn) {
  checkContinued(context);
  const all = [];
  await emit({ type: "agent_start" });
  await emit({ type: "turn_start" });
  await turns({ ...context }, all, config, signal, emit, streamFn);
  return all;
}

function checkContinued({ messages }) {
  if (messages.length === 0) throw new Error("Cannot continue: no messages in context");
  if (messages.at(-1).role === "assistant") throw new Error("Cannot continue from message role: assistant");
}

function asStream(work) {
  const events = new EventStream((event) => event.type === "agent_end", (event) => event.messages ?? []);
  work((event) => events.push(event)).then((messages) => events.end(messages));
  return events;
}
export const agentLoop = (prompts, context, config, signal, streamFn) => asStream((emit) => runAgentLoop(prompts, context, config, emit, signal, streamFn));
export function agentLoopContinue(context, config, signal, streamFn) {
  checkContinued(context);
  return asStream((emit) => runAgentLoopContinue(context, config, emit, signal, streamFn));
}
