//! Log records become blocks.

use super::{
    Answer, Block, BlockId, Kind, Prepared, Prompt, Summary, Thinking, Tool, ToolState, Transcript, plain_lines,
};
use crate::domain::event::StopReason;
use crate::domain::{
    ApprovalEvent, Attachment, CallId, ControlEvent, CustomEntry, CustomMessage, Event, ExtensionEntry, Message, Note,
    NoteKind, PromptEvent, Record, RequestEvent, SettingsEvent, ThreadEvent, ThreadResult, ToolCall, ToolEvent,
};
use crate::workbench::approval::short;
use serde_json::Value;

impl Transcript {
    /// Applies one event of the log.
    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    pub fn apply(&mut self, record: Record) {
        let mut note = record.event.note().filter(|_| self.is_news(&record.event));
        let mut message = None;
        self.permit(&record.event);
        match record.event {
            Event::Prompt(PromptEvent::CognitionIn { text, role, prompt, images, files }) => {
                let files = files.iter().map(Attachment::without_text).collect();
                note = self.joined(Prompt { text, sent: None, role, pending: false, number: prompt, images, files });
            }
            Event::Prompt(PromptEvent::PromptPrepared { typed, messages, .. }) => {
                self.prepared = Some(Prepared { typed, messages, note: note.take() });
            }
            Event::Prompt(PromptEvent::PromptHandled { prompt, text, .. }) => self.settle_pending(prompt, text),
            Event::Request(RequestEvent::CognitionReasoning { text }) => self.thought(plain_lines(text)),
            Event::Request(RequestEvent::CognitionOut {
                text,
                model,
                request,
                stop,
                usage,
                spend,
                message,
                elapsed_ms,
            }) => {
                let input = usage.input + usage.cache_read + usage.cache_write;
                let summary = Summary { model, input, output: usage.output, spend, elapsed_ms };
                self.answered(plain_lines(text), request, stop, summary, &message);
                note = self.of_answer.take();
            }
            // Told behind the answer, which is there already where somebody watched it arrive.
            Event::Request(RequestEvent::AnswerPrepared { .. }) => self.of_answer = note.take(),
            Event::Request(RequestEvent::TokenDelta { request, delta }) => self.delta(request, delta),
            Event::Request(RequestEvent::RequestRecorded { request, .. }) => self.expect_request(request),
            Event::Tool(ToolEvent::ToolCallStart { tool, call_id, item, input, change, .. }) => {
                self.tool_started(short(&item.unwrap_or(tool)).to_owned(), call_id, &input, change);
            }
            Event::Tool(
                ToolEvent::ToolCallResult { call_id, output, error } | ToolEvent::ShellEnded { call_id, output, error },
            ) => {
                self.tool_ended(call_id, output, error);
            }
            Event::Tool(ToolEvent::ShellStarted { call_id, command, shared }) => {
                let name = if shared { "!" } else { "!!" };
                self.tool_started(name.to_owned(), call_id, &serde_json::json!({ "command": command }), None);
            }
            Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Message { message: said, .. } }) => {
                message = Some(said);
            }
            Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Custom { custom_type, data } }) => {
                self.entry_left(CustomEntry { custom_type, data });
            }
            Event::Control(ControlEvent::TurnCancelled { .. })
            | Event::Thread(ThreadEvent::ThreadCancelled { .. } | ThreadEvent::ThreadKilled { .. }) => {
                self.end_live(&StopReason::Cancelled);
            }
            Event::Thread(ThreadEvent::ChildThreadStarted { child, call_id, .. }) => {
                if let Some(block) = self.tool_mut(&call_id)
                    && let Kind::Tool(tool) = &mut block.kind
                {
                    tool.child = Some(child);
                    block.revision += 1;
                }
            }
            // Nothing of the conversation: a note tells of them, or the status line.
            Event::Thread(
                ThreadEvent::ThreadStarted { .. }
                | ThreadEvent::ThreadForked { .. }
                | ThreadEvent::ChildThreadEnded { .. }
                | ThreadEvent::WorkerStarted { .. }
                | ThreadEvent::WorkerEnded { .. }
                | ThreadEvent::LogRepaired { .. }
                | ThreadEvent::ClockJumped { .. }
                | ThreadEvent::DirectiveReturn { .. }
                | ThreadEvent::ThreadCompleted { .. }
                | ThreadEvent::ThreadError { .. }
                | ThreadEvent::ThreadHandoff { .. }
                | ThreadEvent::ThreadContinued { .. }
                | ThreadEvent::RiskNoted { .. }
                | ThreadEvent::ExtensionEntry { .. }
                | ThreadEvent::Notice { .. },
            )
            | Event::Prompt(
                PromptEvent::PromptQueued { .. }
                | PromptEvent::PromptWithdrawn { .. }
                | PromptEvent::QueueArranged { .. }
                | PromptEvent::QueueReleased {},
            )
            | Event::Settings(_)
            | Event::Context(_)
            | Event::Request(
                RequestEvent::ErrorClassified { .. }
                | RequestEvent::RetryScheduled { .. }
                | RequestEvent::RetryDue { .. }
                | RequestEvent::CallCharged { .. },
            )
            | Event::Control(
                ControlEvent::HooksCalled { .. }
                | ControlEvent::HookDecided { .. }
                | ControlEvent::ThreadQueued { .. }
                | ControlEvent::ThreadAdmitted {}
                | ControlEvent::ThreadSuspended { .. }
                | ControlEvent::Limit { .. }
                | ControlEvent::CancelRequested { .. },
            )
            | Event::Approval(_)
            | Event::Tool(
                ToolEvent::ToolProcess { .. }
                | ToolEvent::ToolCallEarly { .. }
                | ToolEvent::FileCheckpointed { .. }
                | ToolEvent::ResultKept { .. }
                | ToolEvent::ResultImage { .. }
                | ToolEvent::CallPrepared { .. }
                | ToolEvent::ResultPrepared { .. }
                | ToolEvent::CommandStarted { .. }
                | ToolEvent::CommandEnded { .. },
            )
            | Event::Unknown { .. } => {}
        }
        if let Some(Note { kind, text }) = note {
            let id = self.mark(kind, text);
            if let Some(message) = message {
                self.is_message(id, message);
            }
        }
    }

    /// An extension left something that it may draw. What is too large is not kept for that.
    fn entry_left(&mut self, entry: CustomEntry) {
        const LARGEST: usize = 16 << 10;
        if entry.data.to_string().len() <= LARGEST {
            let id = self.mark(NoteKind::Info, "");
            if let Some(block) = self.block_mut(id) {
                block.entry = Some(Box::new(entry));
            }
        }
    }

    /// A block shows this message of an extension.
    fn is_message(&mut self, id: BlockId, message: CustomMessage) {
        if let Some(block) = self.block_mut(id) {
            block.message = Some(Box::new(message));
        }
    }

    /// Whether a note about the event tells something: what the thread may do at first is what its directive says, and
    /// the call that made somebody else of it, or set its state, stands there.
    fn is_news(&mut self, event: &Event) -> bool {
        let first = |permitted: &mut bool| !std::mem::replace(permitted, true);
        let is_directives =
            matches!(event, Event::Settings(SettingsEvent::PermissionsSet { .. })) && first(&mut self.permitted);
        let of_a_child = matches!(
            event,
            Event::Thread(ThreadEvent::ChildThreadStarted { .. } | ThreadEvent::ChildThreadEnded { .. })
        );
        // The call that started a thread tells of it, and of its end.
        let of_a_call =
            matches!(event, Event::Settings(SettingsEvent::PersonaChanged { .. } | SettingsEvent::StateSet { .. }));
        !is_directives && !of_a_child && !of_a_call
    }

    /// What an event says about a call that may not run, or not yet.
    fn permit(&mut self, event: &Event) {
        if let Event::Approval(ApprovalEvent::ApprovalRequested { call_id, item, .. }) = event {
            self.tool_stands(call_id, short(item), ToolState::Waiting);
        } else if let Event::Approval(ApprovalEvent::PermissionDenied { call_id, capability, reason, .. }) = event {
            self.tool_stands(call_id, short(capability), ToolState::Asked);
            if let Some(Block { kind: Kind::Tool(tool), .. }) = self.tool_mut(call_id) {
                tool.denied = Some(*reason);
            }
        }
    }

    /// A pending prompt was accepted: it is the one that the worker calls `number`.
    pub(in super::super) fn number(&mut self, id: BlockId, number: u64) {
        if let Some(Block { kind: Kind::Prompt(prompt), .. }) = self.block_mut(id) {
            prompt.number = Some(number);
        }
    }

    /// A prompt joins, with what handlers made of it and added behind it; answers with what is to be told of that.
    fn joined(&mut self, said: Prompt) -> Option<Note> {
        let Prepared { typed, messages, note } = self.prepared.take().unwrap_or_default();
        let (text, sent) = match typed {
            Some(typed) => (typed, Some(said.text.clone())),
            None => (said.text.clone(), None),
        };
        self.said(Prompt { text, sent, ..said });
        for message in messages.into_iter().filter(|one| one.display) {
            let (images, files) = (Vec::new(), Vec::new());
            let (text, role) = (message.text.clone(), message.custom_type.clone());
            let said = Prompt { text, sent: None, role, pending: false, number: None, images, files };
            let id = self.push(Kind::Prompt(said));
            self.is_message(id, message);
        }
        note
    }

    /// The pending prompt of that number reaches no model: it stays where it is, as what was said.
    fn settle_pending(&mut self, number: u64, text: String) {
        let of_number =
            |block: &&mut Block| matches!(&block.kind, Kind::Prompt(prompt) if prompt.number == Some(number));
        if let Some(block) = self.blocks.iter_mut().rev().find(of_number)
            && let Kind::Prompt(prompt) = &mut block.kind
        {
            prompt.pending = false;
            block.revision += 1;
        } else {
            let (role, images, files) = ("user".to_owned(), Vec::new(), Vec::new());
            let number = Some(number);
            self.push(Kind::Prompt(Prompt { text, sent: None, role, pending: false, number, images, files }));
        }
    }

    /// The pending prompt of that number becomes the said one: in its place when nothing was said after it, else at the
    /// end, where the log has it.
    fn said(&mut self, said: Prompt) {
        let number = said.number;
        let is_pending = |block: &&Block| matches!(&block.kind, Kind::Prompt(prompt) if prompt.pending && number.is_some() && prompt.number == number);
        let last = self.blocks.iter().rev().find(|block| !matches!(block.kind, Kind::Marker(_))).map(|block| block.id);
        let pending = self.blocks.iter().rev().find(is_pending).map(|block| block.id);
        if let Some(id) = pending {
            if pending == last
                && let Some(Block { kind: Kind::Prompt(prompt), revision, .. }) = self.block_mut(id)
            {
                prompt.pending = false;
                (prompt.role, prompt.images, prompt.files, prompt.sent) =
                    (said.role, said.images, said.files, said.sent);
                *revision += 1;
                return;
            }
            self.remove(id);
        }
        self.push(Kind::Prompt(said));
    }

    /// Thinking is in the log: what was streamed of it is replaced, in place when both say the same.
    fn thought(&mut self, text: String) {
        let is_thinking = |block: &Block| matches!(block.kind, Kind::Thinking(_));
        let live: Vec<_> = self.live.iter().copied().filter(|id| self.block(*id).is_some_and(is_thinking)).collect();
        if live.is_empty() {
            let request = self.live_request;
            self.push(Kind::Thinking(Thinking { text, request, finished: true, label: None }));
            return;
        }
        let mut streamed = String::new();
        for id in &live {
            if let Some(Block { kind: Kind::Thinking(thinking), .. }) = self.block(*id) {
                streamed.push_str(&thinking.text);
            }
        }
        let mut whole = (streamed != text).then_some(text);
        let replaced = whole.is_some();
        for id in live {
            let Some(Block { kind: Kind::Thinking(thinking), revision, .. }) = self.block_mut(id) else { continue };
            thinking.finished = true;
            *revision += 1;
            if let Some(text) = whole.take() {
                thinking.text = text;
            } else if replaced {
                self.live.retain(|known| *known != id);
                self.remove(id);
            }
        }
    }

    /// The answer is in the log: what was streamed of it is replaced. Nothing moves when both say the same.
    fn answered(&mut self, text: String, request: u32, stop: StopReason, summary: Summary, message: &Message) {
        let live = if self.live_request == request { std::mem::take(&mut self.live) } else { Vec::new() };
        if live.is_empty() {
            self.drop_live();
        }
        self.answered = self.answered.max(request);
        self.live_request = request;
        let mut parts = Vec::new();
        let mut streamed = 0;
        let mut same = true;
        for id in live {
            let Some(block) = self.block_mut(id) else { continue };
            match &mut block.kind {
                Kind::Answer(answer) => {
                    same = same && text.get(streamed..).is_some_and(|rest| rest.starts_with(&answer.text));
                    streamed += answer.text.len();
                    parts.push(id);
                }
                Kind::Thinking(thinking) => {
                    thinking.finished = true;
                    block.revision += 1;
                }
                Kind::Prompt(_) | Kind::Tool(_) | Kind::Marker(_) => {}
            }
        }
        if parts.is_empty() {
            // An answer of nothing but tool calls leaves no block of its own, unless it did not end well.
            if !text.is_empty() || !stop.is_whole() || message.blocks.is_empty() {
                let answer = Answer { text, request, ended: Some(stop), summary: Some(summary) };
                self.push(Kind::Answer(answer));
            }
        } else {
            let last = parts.len() - 1;
            let mut text = Some(text);
            let whole = same && text.as_ref().is_some_and(|text| text.len() == streamed);
            for (index, id) in parts.into_iter().enumerate() {
                let Some(Block { kind: Kind::Answer(answer), revision, .. }) = self.block_mut(id) else { continue };
                if index == 0 && !whole {
                    answer.text = text.take().unwrap_or_default();
                } else if !whole {
                    answer.text.clear();
                }
                answer.text.shrink_to_fit();
                answer.ended = Some(stop.clone());
                if index == last {
                    answer.summary = Some(summary.clone());
                }
                *revision += u32::from(!whole);
            }
        }
        for call in message.calls().cloned().map(ToolCall::straight) {
            let tool = || new_tool(call.tool.clone(), call.call_id.clone(), &call.input, ToolState::Asked);
            match self.tool_mut(&call.call_id) {
                // Its arguments are whole now: one can tell what the call is about.
                Some(Block { kind: kind @ Kind::Tool(Tool { state: ToolState::Asked, .. }), revision, .. }) => {
                    *kind = Kind::Tool(tool());
                    *revision += 1;
                }
                Some(_) => {}
                None => drop(self.push(Kind::Tool(tool()))),
            }
        }
    }

    fn tool_started(&mut self, name: String, call_id: CallId, input: &Value, change: Option<String>) {
        let tool = Tool { change, ..new_tool(name, call_id, input, ToolState::Running) };
        match self.tool_mut(&tool.call_id) {
            Some(block) => {
                block.kind = Kind::Tool(tool);
                block.revision += 1;
            }
            None => {
                self.push(Kind::Tool(tool));
            }
        }
    }

    /// The call is known by this name and stands like this.
    fn tool_stands(&mut self, call_id: &CallId, name: &str, state: ToolState) {
        if let Some(block) = self.tool_mut(call_id)
            && let Kind::Tool(tool) = &mut block.kind
        {
            name.clone_into(&mut tool.name);
            tool.state = state;
            block.revision += 1;
        }
    }

    fn tool_ended(&mut self, call_id: CallId, output: String, error: Option<String>) {
        let mut state = error.map_or(ToolState::Done, ToolState::Failed);
        if let Some(block) = self.tool_mut(&call_id)
            && let Kind::Tool(tool) = &mut block.kind
        {
            let started = tool.child.as_ref().and_then(|_| result_in_words(&output));
            if let (Some((head, _)), ToolState::Failed(why)) = (&started, &mut state) {
                why.clone_from(head);
            }
            tool.output = started.map_or_else(|| for_people(output), |(head, rest)| format!("{head}\n{rest}"));
            tool.state = state;
            block.revision += 1;
        } else {
            let tool = new_tool("tool".to_owned(), call_id, &Value::Null, state);
            self.push(Kind::Tool(Tool { output, ..tool }));
        }
    }
}

fn new_tool(name: String, call_id: CallId, input: &Value, state: ToolState) -> Tool {
    let text = match input {
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Null => String::new(),
        // What is short is not looked for below what is long.
        Value::Object(fields) => {
            let is_long = |value: &Value| value.as_str().is_some_and(|text| text.trim_end().contains('\n'));
            let (long, short): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_long(value));
            let all = short.into_iter().chain(long);
            all.map(|(name, value)| argument(name, value)).collect::<Vec<_>>().join("\n")
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => serde_json::to_string_pretty(input).unwrap_or_default(),
    };
    Tool {
        call_id,
        name,
        main: main_argument(input),
        input: text,
        change: None,
        output: String::new(),
        state,
        denied: None,
        child: None,
    }
}

/// An argument by its name: a text as it is, everything else as JSON.
fn argument(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) if text.trim_end().contains('\n') => format!("{name}:\n{}", text.trim_end()),
        Value::String(text) => format!("{name}: {text}"),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            format!("{name}: {other}")
        }
    }
}

/// What came of a thread that a call started, for people: how it ended, then what it said or handed back.
fn result_in_words(output: &str) -> Option<(String, String)> {
    let ThreadResult { status, cost, result, outputs, error, .. } = serde_json::from_str(output).ok()?;
    let turns = if cost.turns == 1 { "turn" } else { "turns" };
    let spend = crate::domain::Money::from_dollars(cost.spend);
    let head = format!("{status}: {} {turns}, {} tokens, {spend}", cost.turns, cost.input_tokens + cost.output_tokens);
    let outputs = outputs.map(|outputs| format!("{outputs:#}"));
    let texts = [error, outputs, result].into_iter().flatten();
    Some((head, texts.map(|text| text.trim_end().to_owned()).collect::<Vec<_>>().join("\n")))
}

/// What a tool said without the ids of lines, `12:a3f│ text`, which are for models.
fn for_people(output: String) -> String {
    if !output.contains('│') {
        return output;
    }
    let line = |line: &str| {
        let shorter = line.split_once('│').and_then(|(begin, text)| {
            let (number, id) = begin.split_once(':')?;
            let is_line = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            (is_line && is_id).then(|| format!("{number}│{text}"))
        });
        shorter.unwrap_or_else(|| line.to_owned())
    };
    output.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The argument by which a person recognises a call.
fn main_argument(input: &Value) -> String {
    const TELLING: [&str; 13] = [
        "command",
        "cmd",
        "file_path",
        "path",
        "file",
        "item_id",
        "directive_name",
        "directive",
        "pattern",
        "query",
        "url",
        "name",
        "title",
    ];
    let in_short = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    let Value::Object(fields) = input else { return if input.is_null() { String::new() } else { in_short(input) } };
    let telling = TELLING.iter().find_map(|name| fields.get(*name));
    let text = telling.or_else(|| fields.values().find(|value| value.is_string())).or_else(|| fields.values().next());
    let mut text = text.map(in_short).unwrap_or_default();
    // What a directive is told is what tells two calls of it apart.
    if let (true, Some(Value::Object(inputs))) = (fields.contains_key("directive_name"), fields.get("inputs")) {
        for (name, value) in inputs {
            text.extend([" ", name, "=", &in_short(value)]);
        }
    }
    let mut words = String::with_capacity(text.len().min(200));
    for word in text.split_whitespace() {
        if words.len() > 200 {
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_and_lines_are_for_people() {
        let input = json!({"path": "a.txt", "content": "one\n\"two\"\n", "depth": 3});
        let tool = new_tool("write".into(), CallId("1".into()), &input, ToolState::Running);
        assert_eq!(tool.input, "depth: 3\npath: a.txt\ncontent:\none\n\"two\"");
        let output = "a.txt\n1:x7│ let a;\n20:b│ │ x\nfoo: bar│ stays\n: │";
        assert_eq!(for_people(output.into()), "a.txt\n1│ let a;\n20│ │ x\nfoo: bar│ stays\n: │");
    }

    #[test]
    fn the_telling_argument_is_shown() {
        assert_eq!(main_argument(&json!({"timeout": 3, "command": "cargo  test\n--all"})), "cargo test --all");
        assert_eq!(main_argument(&json!({"depth": 3})), "3");
        assert_eq!(main_argument(&json!({})), "");
        assert_eq!(main_argument(&Value::Null), "");
    }
}
