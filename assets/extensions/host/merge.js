// What the answers of several handlers to one event amount to.
//
// One entry per event that may be answered: `start` makes the state from the payload, `event` what the
// next handler sees, `take` folds one answer in and returns true to stop, `end` is the outcome. Only own
// fields of an answer count, so that a polluted prototype decides nothing. Events without an entry are
// told to every handler and their answers dropped; names nobody knows have their answers collected.

import { own, plain, structuredClone } from "../runtime/clone.js";

const given = (answer) => answer !== null && typeof answer === "object";
const text = (value) => typeof value === "string";

/** Fields that one handler may set and the next one sees. */
function override(state, answer, names) {
  let changed = false;
  for (const name of names) {
    const value = own(answer, name);
    if (value === undefined) continue;
    state[name] = value;
    changed = true;
  }
  return changed;
}

// Taken before any extension runs, as in runtime/clone.js.
const { stringify } = JSON;
/** Whether two values come to the same once they are plain. */
const same = (a, b) => stringify(plain(a)) === stringify(plain(b));

/**
 * What handlers did to the event's own values without answering: a list that was added to, a text that was
 * changed. Called before the event is shown; what it gives back says afterwards which fields changed. A field that
 * was put in the place of another counts once some handler answered.
 */
export function editsOf(event, names) {
  const before = names.map((name) => [name, event[name], structuredClone(event[name])]);
  return (answered) => {
    const edits = {};
    for (const [name, value, copy] of before) {
      const now = answered ? event[name] : value;
      if (!same(now, copy)) edits[name] = now;
    }
    return edits;
  };
}

const unanswered = (outcome) => ({ start: (payload) => ({ payload }), event: (state) => state.payload, take: () => false, end: () => outcome });

/** The last answer that says anything counts as a whole; the first that cancels stops. */
const lastWins = {
  start: (payload) => ({ payload, last: undefined }),
  event: (state) => state.payload,
  take: (state, answer) => {
    if (!given(answer)) return false;
    state.last = answer;
    return own(answer, "cancel") === true || Boolean(own(answer, "cancel"));
  },
  end: (state) => state.last,
};

/** Every answer, in order, each with the file it came from. */
const collected = {
  start: (payload) => ({ payload, answers: [] }),
  event: (state) => state.payload,
  take: (state, answer, path) => {
    if (answer !== undefined) state.answers.push({ path, answer });
    return false;
  },
  end: (state) => ({ answers: state.answers }),
};

/** Fields that are handed on as they are after a handler, in events that do not say so with an object of their own. */
export const EDITED = { tool_result: ["content", "details", "isError"], message_end: ["message"] };

export const RULES = {
  input: {
    start: (payload) => ({ payload, text: payload.text, images: payload.images, action: "continue" }),
    event: (state) => ({ ...state.payload, text: state.text, images: state.images }),
    take: (state, answer) => {
      const action = own(answer, "action");
      if (action === "handled") {
        state.action = "handled";
        return true;
      }
      if (action === "transform" && text(own(answer, "text"))) {
        state.text = own(answer, "text");
        state.images = own(answer, "images") ?? state.images;
        if (state.text !== state.payload.text || state.images !== state.payload.images) state.action = "transform";
        else state.action = "continue";
      }
      return false;
    },
    end: ({ action, text: value, images }) => (action === "transform" ? { action, text: value, images } : { action }),
  },

  before_agent_start: {
    start: (payload) => ({ payload, systemPrompt: payload.systemPrompt, changed: false, messages: [] }),
    event: (state) => ({ ...state.payload, systemPrompt: state.systemPrompt }),
    take: (state, answer, path) => {
      const message = own(answer, "message");
      if (given(message)) state.messages.push({ ...message, path });
      const prompt = own(answer, "systemPrompt");
      if (text(prompt)) Object.assign(state, { systemPrompt: prompt, changed: true });
      return false;
    },
    // An empty prompt counts as none: the session goes back to its base prompt.
    end: ({ messages, changed, systemPrompt }) => ({ messages, systemPrompt: changed && systemPrompt ? systemPrompt : undefined }),
  },

  context: {
    // One deep copy for the whole chain, so that edits in place reach the next handler and the model
    // but never the stored history.
    start: (payload) => ({ payload, messages: structuredClone(payload.messages) }),
    event: (state) => ({ ...state.payload, messages: state.messages }),
    take: (state, answer) => {
      const messages = own(answer, "messages");
      if (Array.isArray(messages)) state.messages = messages;
      return false;
    },
    end: ({ messages }) => ({ messages }),
  },

  before_provider_request: {
    start: (payload) => ({ payload, current: payload.payload, changed: false }),
    event: (state) => ({ ...state.payload, payload: state.current }),
    take: (state, answer) => {
      if (answer !== undefined) state.current = answer;
      return false;
    },
    end: ({ current }) => ({ payload: current }),
  },

  before_provider_headers: {
    start: (payload) => ({ payload, headers: { ...payload.headers } }),
    event: (state) => ({ ...state.payload, headers: state.headers }),
    // They are changed in place; what is answered counts for nothing.
    take: () => false,
    end: ({ headers }) => ({ headers }),
  },

  tool_call: {
    // The input is what will be executed, so one copy is shared down the chain and handed back.
    start: (payload) => ({ payload, answer: {}, seen: { ...payload, input: structuredClone(payload.input) } }),
    event: (state) => state.seen,
    take: (state, answer) => {
      if (own(answer, "terminate") !== undefined) state.answer.terminate = Boolean(own(answer, "terminate"));
      if (!own(answer, "block")) return false;
      const reason = own(answer, "reason");
      Object.assign(state.answer, { block: true, reason: text(reason) && reason ? reason : "Tool execution was blocked" });
      return true;
    },
    end: (state) => ({ ...state.answer, input: state.seen.input }),
    // A handler that throws blocks the call, and later handlers are not asked.
    failed: (state, message) => {
      Object.assign(state.answer, { block: true, reason: message, failed: true });
      return true;
    },
  },

  tool_result: {
    // One event for all of them, and what is edited in it counts: the result is shown to the model as it is then.
    start: (payload) => {
      const seen = { ...payload };
      const { content, details, isError } = payload;
      return { seen, given: { content, details, isError }, edits: editsOf(seen, EDITED.tool_result), changed: false };
    },
    event: (state) => state.seen,
    take: (state, answer) => {
      if (override(state.seen, answer, [...EDITED.tool_result, "terminate"])) state.changed = true;
      return false;
    },
    end: ({ changed, seen, given: before, edits }) => {
      if (changed) return { content: seen.content, details: seen.details, isError: seen.isError, terminate: seen.terminate };
      const edited = edits(false);
      return Object.keys(edited).length === 0 ? undefined : { ...before, ...edited };
    },
  },

  message_end: {
    start: (payload) => ({ payload, message: payload.message, edits: editsOf(payload, EDITED.message_end), changed: false }),
    event: (state) => ({ ...state.payload, message: state.message }),
    take: (state, answer) => {
      const message = own(answer, "message");
      if (!message) return false;
      // A replacement of another role would break the pairing of calls and results.
      if (own(message, "role") !== state.payload.message?.role) throw new Error("a replaced message must keep its role");
      Object.assign(state, { message, changed: true });
      return false;
    },
    end: ({ changed, message, edits }) => (changed || edits(false).message !== undefined ? { message } : undefined),
  },

  user_bash: {
    start: (payload) => ({ payload, answer: undefined }),
    event: (state) => state.payload,
    take: (state, answer) => {
      // The first that says anything takes the command, even if it does not say how.
      if (!answer) return false;
      state.answer = given(answer) ? answer : {};
      return true;
    },
    end: ({ answer }) => answer,
  },

  resources_discover: {
    start: (payload) => ({ payload, skillPaths: [], promptPaths: [], themePaths: [] }),
    event: (state) => ({ ...state.payload }),
    take: (state, answer, path) => {
      for (const name of ["skillPaths", "promptPaths", "themePaths"]) {
        const paths = own(answer, name);
        if (Array.isArray(paths)) for (const item of paths) if (text(item)) state[name].push({ path: item, extension: path });
      }
      return false;
    },
    end: ({ skillPaths, promptPaths, themePaths }) => ({ skillPaths, promptPaths, themePaths }),
  },

  session_directory: {
    start: (payload) => ({ payload, sessionDir: undefined }),
    event: (state) => state.payload,
    take: (state, answer) => {
      if (text(own(answer, "sessionDir"))) state.sessionDir = answer.sessionDir;
      return false;
    },
    end: ({ sessionDir }) => ({ sessionDir }),
    withoutContext: true,
  },

  session_before_switch: lastWins,
  session_before_fork: lastWins,
  session_before_compact: lastWins,
  session_before_tree: lastWins,
};

const TOLD = [
  "session_start", "session_switch", "session_fork", "session_compact", "session_compact_failed", "session_tree", "session_shutdown",
  "session_info_changed", "agent_start", "agent_end", "agent_settled", "turn_start", "turn_end", "message_start", "message_update",
  "tool_execution_start", "tool_execution_update", "tool_execution_end", "model_select", "thinking_level_select",
  "after_provider_response", "ui_prompt_start", "ui_prompt_end", "queue_update",
];
for (const name of TOLD) RULES[name] = unanswered(undefined);

/** Every event the host knows, for the debugger and for completion. */
export const EVENT_NAMES = Object.freeze([...Object.keys(RULES), "project_trust"]);

export const ruleFor = (event) => (Object.hasOwn(RULES, event) ? RULES[event] : collected);
