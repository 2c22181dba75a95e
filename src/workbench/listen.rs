//! What the thread, its worker and its log tell.

use super::message::{Effect, Level};
use super::model::Model;
use super::thread_view::{Link, PendingPrompt, Phase, Sent, ThreadView};
use super::transcript::Transcript;
use crate::commands::CommandId;
use crate::domain::event::{CancelScope, Delta, StopReason};
use crate::domain::{
    ApprovalEvent, ControlEvent, Drawing, Event, NoteKind, PromptEvent, Record, RequestEvent, SettingsEvent, Status,
    ThreadEvent, ThreadId, TodoList, ToolEvent, Waiting,
};
use crate::worker::protocol::{FromWorker, QueuedPrompt, State};

impl Model {
    pub(super) fn opened(
        &mut self,
        thread_id: ThreadId,
        newest: Vec<Record>,
        older: Option<u64>,
        state: Option<State>,
        elsewhere: bool,
    ) -> Vec<Effect> {
        match self.view.link {
            Link::Starting => {}
            Link::Opening if self.view.thread.as_ref() == Some(&thread_id) => self.view.link = Link::Resting,
            // The person has gone elsewhere meanwhile.
            Link::Draft | Link::Opening | Link::Resting | Link::Reviving | Link::Connected => return Vec::new(),
        }
        self.view.thread = Some(thread_id);
        self.view.elsewhere = elsewhere;
        self.view.older = older;
        self.view.loading_older = false;
        let waits = self.view.waits.iter().any(|waits| waits.block.is_some());
        if !waits {
            self.view.transcript = self.view.transcript.successor();
        }
        for record in newest {
            self.view.works_since = match phase_after(&record.event) {
                Some(Phase::Idle) => None,
                Some(_) => self.view.works_since.or(Some(record.timestamp)),
                None => self.view.works_since,
            };
            self.learn(&record.event);
            self.view.transcript.apply(record);
        }
        if let Some(state) = state {
            self.answers(&state.model);
            self.view.state = Some(state);
        }
        self.view.follow();
        self.changed = true;
        let works = self.view.state.as_ref().is_some_and(|state| state.status == Status::Running);
        if self.view.link == Link::Resting && !works {
            self.say_what_waits();
        }
        // Without a worker the log ends where it ends, so nobody else will send what was typed ahead.
        let mut effects = self.revive_held();
        effects.extend(self.begin_fork());
        effects.extend(self.want_kin());
        effects
    }

    /// What waits goes into a thread of the person's own, which says the same so far.
    pub(super) fn forked(&mut self, from: &ThreadId, thread_id: ThreadId) {
        if self.view.thread.as_ref() == Some(from) {
            let text =
                format!("{from} is from elsewhere: you continue in its fork {thread_id}, without its permissions.");
            // Pages of the other log are none of this one's.
            (self.view.thread, self.view.elsewhere, self.view.older) = (Some(thread_id), false, None);
            self.told(Level::Info, text);
            self.changed = true;
        }
    }

    /// Starts a worker for prompts that were sent while the log was read.
    fn revive_held(&mut self) -> Vec<Effect> {
        let Some(thread_id) = self.view.thread.clone().filter(|_| self.view.link == Link::Resting) else {
            return Vec::new();
        };
        let Some(waits) = self.view.waits.iter_mut().find(|waits| waits.held) else { return Vec::new() };
        waits.held = false;
        self.view.link = Link::Reviving;
        let (id, command) = (waits.id, waits.command());
        self.view.sent.insert(id, Sent::Prompt);
        vec![Effect::Revive { thread_id, id, command }]
    }

    /// The page before `before` goes to the view that asked for it.
    pub(super) fn older_page(
        &mut self,
        thread_id: &ThreadId,
        before: u64,
        records: Vec<Record>,
        older: Option<u64>,
    ) -> Vec<Effect> {
        let asked = |view: &&mut ThreadView| view.is_of(thread_id) && view.loading_older && view.older == Some(before);
        if let Some(view) = [&mut self.view, &mut self.peek.view].into_iter().find(asked) {
            view.older = older;
            view.loading_older = false;
            view.transcript.prepend(records);
            self.changed = true;
        }
        Vec::new()
    }

    pub(super) fn connected(&mut self, thread_id: &ThreadId) -> Vec<Effect> {
        if self.view.thread.as_ref() != Some(thread_id) {
            return Vec::new();
        }
        self.view.link = Link::Connected;
        self.view.alone = false;
        self.changed = true;
        self.send_held()
    }

    pub(super) fn disconnected(&mut self, thread_id: &ThreadId, expected: bool, detail: &str) -> Vec<Effect> {
        let ours = self.view.thread.as_ref() == Some(thread_id)
            || (self.view.link == Link::Starting && self.view.thread.is_none());
        // While the thread is being opened nobody is connected, and none that is being woken says goodbye: what ended is the
        // connection from before the person went elsewhere and came back, or spoke to a thread whose worker just ended.
        let is_old = self.view.link == Link::Opening || (self.view.link == Link::Reviving && expected);
        if !ours || is_old || self.view.link == Link::Draft {
            return Vec::new();
        }
        let was_working = self.view.is_working();
        self.view.link = if self.view.thread.is_some() { Link::Resting } else { Link::Draft };
        self.view.alone = self.view.thread.is_some();
        self.view.transcript.end_live(&StopReason::Lost);
        if let Some(state) = &mut self.view.state {
            // Nobody is there who would draw them, hear their keys or take an answer.
            state.extensions.components.clear();
            state.extensions.dialogs.clear();
        }
        if !expected {
            let was_running = self.view.state.as_ref().is_some_and(|state| state.status == Status::Running);
            let what = match detail {
                "" => "the worker ended unexpectedly".to_owned(),
                whole if whole.starts_with("the worker") => whole.to_owned(),
                why => format!("the worker ended unexpectedly: {why}"),
            };
            self.view.transcript.mark(NoteKind::Error, format!("{what}; send a message to resume"));
            // The log may have said so already, and the thread be at rest again.
            if let Some(state) = self.view.state.as_mut().filter(|_| was_working || was_running) {
                (state.status, state.waiting) = (Status::Error, None);
            }
        }
        self.lost();
        self.changed = true;
        if let Some(next) = self.view.successor.clone().filter(|_| expected) {
            return self.follow_handoff(next);
        }
        if super::geometry::shows_panel(self) { vec![Effect::LoadThreads] } else { Vec::new() }
    }

    /// Nobody listens any more: what nobody has comes back into the draft.
    fn lost(&mut self) {
        self.view.queue_told = None;
        for sent in std::mem::take(&mut self.view.sent).into_values() {
            if let Sent::Shell(text) = sent {
                self.composer.put_back(&text);
            }
        }
        self.forget_approvals();
        self.give_back(|waits| waits.prompt.is_none());
        self.view.waits.clear();
        self.enter(Phase::Idle);
    }

    /// A notice of the program around. While a thread is being made or woken an error means that it failed.
    pub(super) fn told(&mut self, level: Level, text: String) -> Vec<Effect> {
        let starting = match self.view.link {
            Link::Starting => Some(Link::Draft),
            Link::Reviving | Link::Opening => Some(Link::Resting),
            Link::Draft | Link::Resting | Link::Connected => None,
        };
        if let (Level::Error, Some(back)) = (level, starting) {
            self.view.link = if self.view.thread.is_some() { Link::Resting } else { back };
            self.lost();
            self.view.transcript.mark(NoteKind::Error, text.clone());
        }
        self.say(level, text);
        Vec::new()
    }

    pub(super) fn heard(&mut self, thread_id: &ThreadId, message: FromWorker) -> Vec<Effect> {
        // The worker of the thread before may still have something to say.
        if self.view.link != Link::Connected || self.view.thread.as_ref() != Some(thread_id) {
            return Vec::new();
        }
        match message {
            FromWorker::Hello { .. }
            | FromWorker::Preview { .. }
            | FromWorker::Typed { .. }
            | FromWorker::Lagged { .. }
            | FromWorker::Bye { .. } => Vec::new(),
            FromWorker::Refused { reason } => {
                self.say(Level::Error, format!("the worker refused: {reason}"));
                self.view.link = Link::Resting;
                self.lost();
                Vec::new()
            }
            FromWorker::Ack { id } => self.acknowledged(id),
            FromWorker::Error { id, message } => self.refused(id, message),
            FromWorker::Event { offset, next_offset, record } => {
                if !self.view.takes(&record, offset, next_offset) {
                    return Vec::new();
                }
                if matches!(record.event, Event::Request(RequestEvent::RequestRecorded { .. })) {
                    self.beside_outdated();
                }
                let recorded = if let Event::Request(RequestEvent::RequestRecorded { request, .. }) = record.event {
                    Some(request)
                } else {
                    None
                };
                let mut effects = self.live_event(record);
                effects.extend(recorded.map(|request| self.compare_fork(request)).unwrap_or_default());
                effects
            }
            FromWorker::Delta { request, delta } => {
                self.streams(&delta);
                if let Delta::Text { text } | Delta::Thinking { text } = &delta {
                    self.colours.arrived(text.len());
                }
                self.growing(|transcript| transcript.delta(request, delta));
                Vec::new()
            }
            FromWorker::Inflight { request, deltas } => {
                if let Some(delta) = deltas.last() {
                    self.streams(delta);
                }
                self.growing(|transcript| transcript.inflight(request, deltas));
                Vec::new()
            }
            FromWorker::ToolOutput { call_id, text } => {
                self.growing(|transcript| transcript.tool_said(&call_id, &text));
                Vec::new()
            }
            FromWorker::ToolOutputSoFar { call_id, text } => {
                self.growing(|transcript| transcript.tool_has_said(&call_id, text));
                Vec::new()
            }
            FromWorker::State(state) => self.stands(state),
            FromWorker::Drawn { id, drawing } => {
                self.view.sent.remove(&id);
                self.drawn(id, drawing);
                Vec::new()
            }
            FromWorker::Suggested { id, suggestions } => {
                self.view.sent.remove(&id);
                self.suggestions_came(id, suggestions);
                Vec::new()
            }
        }
    }

    /// The worker did what was asked of it.
    fn acknowledged(&mut self, id: u64) -> Vec<Effect> {
        match self.view.sent.remove(&id) {
            Some(Sent::Leave(destination)) => return self.go_to(destination),
            Some(Sent::Queue) => self.queue_answered(),
            Some(Sent::Foreground(program)) => return vec![Effect::RunForeground(program)],
            Some(Sent::Prompt | Sent::FrozenRequest) => {
                // What came of it may have been told before this: then no other word follows.
                let stands = self.view.state.as_ref().map(|state| (works(state), state.status));
                if let Some((false, status)) = stands
                    && self.view.activity.phase == Phase::Asking
                {
                    self.rest(status);
                }
            }
            Some(
                Sent::Shell(_)
                | Sent::Approval
                | Sent::Drawing
                | Sent::Suggestions
                | Sent::Typed
                | Sent::Draft
                | Sent::Other,
            )
            | None => {}
        }
        Vec::new()
    }

    /// It did not, and says why.
    fn refused(&mut self, id: u64, message: String) -> Vec<Effect> {
        let sent = self.view.sent.remove(&id);
        if sent == Some(Sent::Drawing) {
            // The program draws it then.
            self.drawn(id, Drawing::default());
            return Vec::new();
        }
        if sent == Some(Sent::Suggestions) {
            self.suggestions_came(id, Vec::new());
            return Vec::new();
        }
        if sent == Some(Sent::Typed) {
            self.hearing.is_refused(id);
            return Vec::new();
        }
        if sent == Some(Sent::Draft) {
            // Extensions of a worker that somebody else started hear nothing of what is written here.
            return Vec::new();
        }
        if let Some(Sent::Foreground(_)) = sent {
            // Another screen has it.
            return Vec::new();
        }
        if sent == Some(Sent::Approval) {
            self.answer_failed();
        }
        if sent == Some(Sent::Queue) {
            self.queue_answered();
        }
        if let Some(Sent::Shell(text)) = &sent {
            self.composer.put_back(text);
            self.complete();
        }
        let look_again = sent == Some(Sent::FrozenRequest);
        if matches!(sent, Some(Sent::Prompt | Sent::FrozenRequest)) {
            self.give_back(|waits| waits.id == id && waits.prompt.is_none());
            if self.view.activity.phase == Phase::Sending {
                self.enter(Phase::Idle);
            }
        }
        let level = if matches!(sent, Some(Sent::Leave(_))) { Level::Info } else { Level::Error };
        self.say(level, message);
        if look_again { self.preview_request() } else { Vec::new() }
    }

    fn growing(&mut self, change: impl FnOnce(&mut Transcript)) {
        self.changed |= self.view.grow(change);
    }

    fn live_event(&mut self, record: Record) -> Vec<Effect> {
        self.learn(&record.event);
        self.now = self.now.max(record.timestamp);
        if let Event::Prompt(PromptEvent::CognitionIn { prompt: Some(prompt), .. }) = &record.event {
            self.view.waits.retain(|waits| waits.prompt != Some(*prompt));
        } else if let Event::Prompt(PromptEvent::PromptHandled { prompt, .. }) = &record.event {
            self.view.waits.retain(|waits| waits.prompt != Some(*prompt));
            // Nothing follows from it; where something else goes on, the state says so.
            if self.view.activity.phase == Phase::Sending && self.view.waits.is_empty() {
                self.enter(Phase::Idle);
            }
        } else if let Event::Prompt(event) = &record.event
            && let Some(queued) = QueuedPrompt::of(event)
        {
            self.queued_in_log(queued.without_texts());
        } else if let Event::Prompt(PromptEvent::PromptWithdrawn { prompt, why }) = &record.event {
            if why.is_some() {
                self.given_back(*prompt);
            }
            if let Some(state) = &mut self.view.state {
                state.queue.retain(|queued| queued.prompt != *prompt);
            }
            self.show_queue();
        } else if let Event::Request(RequestEvent::ErrorClassified { .. }) = &record.event {
            self.view.transcript.end_live(&StopReason::Truncated { detail: "the call failed".to_owned() });
        } else if let Event::Tool(ToolEvent::ShellStarted { .. }) = &record.event {
            // It runs, whether or not its answer still comes: it is not put back into the draft.
            if let Some(begun) = self.view.sent.values_mut().find(|sent| matches!(sent, Sent::Shell(_))) {
                *begun = Sent::Other;
            }
        }
        if matches!(record.event, Event::Control(ControlEvent::TurnCancelled { .. })) {
            self.queue_unsaid();
            self.say_what_waits();
        }
        if let Some(phase) = phase_after(&record.event)
            && (phase != Phase::Cancelling || self.view.is_working())
            && !(matches!(record.event, Event::Tool(ToolEvent::ShellStarted { .. })) && self.view.is_working())
        {
            self.enter(phase);
        }
        let answered = matches!(record.event, Event::Request(RequestEvent::CognitionOut { .. }));
        let ended = matches!(record.event, Event::Tool(ToolEvent::ToolCallResult { .. }));
        self.growing(|transcript| transcript.apply(record));
        // An answer ends and a command of the person's goes on, or a call has its result and others run.
        if (answered && self.view.activity.phase == Phase::Idle || ended && self.view.activity.phase == Phase::Asking)
            && let Some(tool) = self.view.transcript.runs().map(str::to_owned)
        {
            self.enter(Phase::Tool(tool));
        }
        Vec::new()
    }

    /// Prompts that had their place in the conversation and were stopped before they were said wait in the queue like others.
    fn queue_unsaid(&mut self) {
        let has_place = |waits: &PendingPrompt| waits.block.is_some() && waits.prompt.is_some();
        let unsaid: Vec<PendingPrompt> = self.view.waits.extract_if(.., |waits| has_place(waits)).collect();
        for waits in unsaid {
            if let Some(block) = waits.block {
                self.growing(|transcript| transcript.remove(block));
            }
            let PendingPrompt { prompt: Some(prompt), text, mode, client, .. } = waits else { continue };
            let Some(state) = &mut self.view.state else { continue };
            if !state.queue.iter().any(|known| known.prompt == prompt) {
                let (text, client) = (text.to_string(), Some(client));
                state
                    .queue
                    .insert(0, QueuedPrompt { prompt, text, mode, images: Vec::new(), files: Vec::new(), client });
            }
        }
        self.show_queue();
    }

    /// The person stopped the thread, or opened one that was stopped, and what they had queued is not sent without another
    /// word.
    fn say_what_waits(&mut self) {
        let key = |command| {
            let key = self.keymap.key_for(command, &self.composer_contexts());
            key.map_or_else(|| "/".to_owned(), |key| key.to_string())
        };
        let (send, back) = (key(CommandId::PromptSend), key(CommandId::PromptTakeBack));
        let text = match self.view.queued().count() {
            0 => return,
            1 => format!("a queued message waits: {send} sends it, {back} takes it back"),
            many => format!("{many} queued messages wait: {send} sends them, {back} takes one back"),
        };
        let stopped = if self.view.link == Link::Connected { "stopped; " } else { "" };
        self.say(Level::Info, format!("{stopped}{text}"));
    }

    fn queued_in_log(&mut self, queued: QueuedPrompt) {
        self.accepted(queued.prompt, queued.client.as_deref());
        let shown = self.view.has_block_of(queued.prompt);
        if let Some(state) = self.view.state.as_mut().filter(|_| !shown)
            && !state.queue.iter().any(|known| known.prompt == queued.prompt)
        {
            state.queue.push(queued);
            self.show_queue();
        }
    }

    /// What an event tells beside its block, whether it is read from the log or comes live.
    fn learn(&mut self, event: &Event) {
        if let Event::Thread(ThreadEvent::ThreadStarted { directive, model, inputs, lineage, .. }) = event {
            self.view.parent.clone_from(&lineage.parent);
            self.view.previous.clone_from(&lineage.previous);
            self.follows(directive);
            self.inputs.clone_from(inputs);
            self.answers(model);
        } else if let Event::Thread(ThreadEvent::ThreadContinued { new_thread_id, .. }) = event {
            self.view.successor = Some(new_thread_id.clone());
        } else if let Event::Settings(SettingsEvent::ModelChanged { model })
        | Event::Request(RequestEvent::CognitionOut { model, .. }) = event
        {
            self.answers(model);
        } else if let Event::Settings(SettingsEvent::StateSet { values }) = event
            && let Some(list) = TodoList::set_by(values)
        {
            self.view.todo = Some(list);
        }
        self.view.stopped = stopped_after(event, self.view.stopped);
    }

    fn answers(&mut self, model: &crate::domain::ModelRef) {
        if self.model != *model {
            self.model_is_scripted = model.provider == "scripted";
            self.model.clone_from(model);
        }
    }

    fn streams(&mut self, delta: &Delta) {
        if self.view.activity.phase == Phase::Cancelling {
            return;
        }
        match delta {
            Delta::Text { .. } => self.enter(Phase::Writing),
            Delta::Thinking { .. } => self.enter(Phase::Thinking),
            Delta::ToolCallStart { name, .. } => self.enter(Phase::Tool(name.clone())),
            Delta::ToolInputDelta { .. } => {}
        }
    }

    /// Nothing goes on in the thread, unless something that was sent is not taken yet.
    fn rest(&mut self, status: Status) {
        let is_prompt = |sent: &Sent| matches!(sent, Sent::Prompt | Sent::FrozenRequest);
        if self.view.is_working() && !self.view.sent.values().any(is_prompt) {
            let waits = self.view.waits.iter().any(|waits| waits.block.is_some());
            if !waits || status.is_terminal() {
                self.enter(Phase::Idle);
            }
        }
    }

    fn stands(&mut self, state: State) -> Vec<Effect> {
        let before = self.view.state.as_ref().map(|state| state.status);
        let working = works(&state);
        for queued in &state.queue {
            self.accepted(queued.prompt, queued.client.as_deref());
        }
        // A prompt that has its place in the transcript is not shown a second time above the draft.
        let mut state = state;
        state.queue = self.queue_of(state.queue);
        state.queue.retain(|queued| !self.view.has_block_of(queued.prompt));
        self.view.todo.clone_from(&state.todo);
        self.answers(&state.model);
        self.follows(&state.directive);
        if working && !self.view.is_working() {
            self.enter(self.view.transcript.runs().map_or(Phase::Asking, |tool| Phase::Tool(tool.to_owned())));
            // Whoever comes back sees how long it has been at it, not how long they have watched.
            if let Some(since) = self.view.works_since.take() {
                self.view.activity.seconds = self.now.since(since) / 1_000;
            }
        } else if !working {
            self.rest(state.status);
        }
        match (state.waiting, &self.view.activity.phase) {
            (Some(Waiting::Approval), _) => self.enter(Phase::Approval),
            (_, Phase::Approval) if working => self.enter(Phase::Asking),
            _ => {}
        }
        let changed = before != Some(state.status);
        self.changed |= self.view.state.as_ref() != Some(&state);
        let drawn = &state.extensions.drawn;
        if self.view.state.as_ref().is_some_and(|before| !before.extensions.drawn.draws_as(drawn)) {
            self.view.transcript.forget_drawings();
        }
        self.view.breakpoints.clone_from(&state.breakpoints);
        let handled = self.view.handling().cloned();
        self.view.state = Some(state);
        self.follow_approvals();
        self.show_queue();
        let lists = changed && super::geometry::shows_panel(self);
        self.pipeline_moved(handled.as_ref(), changed).into_iter().chain(lists.then_some(Effect::LoadThreads)).collect()
    }
}

/// Whether something goes on in a thread.
fn works(state: &State) -> bool {
    match state.status {
        Status::Queued | Status::Running => true,
        Status::Waiting => !matches!(state.waiting, None | Some(Waiting::User)),
        Status::Created
        | Status::Suspended
        | Status::Completed
        | Status::Error
        | Status::Cancelled
        | Status::Killed
        | Status::Continued => false,
    }
}

/// What has stopped the thread after an event, where `before` had before it. A thread that a person works in goes on waiting for
/// them after a failed call and at a limit, so its status does not say so.
fn stopped_after(event: &Event, before: Option<&'static str>) -> Option<&'static str> {
    let failed = matches!(
        event,
        Event::Request(RequestEvent::ErrorClassified { .. }) | Event::Thread(ThreadEvent::ThreadError { .. })
    );
    let goes_on = matches!(
        event,
        Event::Prompt(PromptEvent::CognitionIn { .. })
            | Event::Request(
                RequestEvent::RequestRecorded { .. }
                    | RequestEvent::RetryScheduled { .. }
                    | RequestEvent::RetryDue { .. },
            )
            | Event::Tool(ToolEvent::ShellStarted { .. })
            | Event::Control(ControlEvent::TurnCancelled { .. })
    );
    if failed {
        Some("failed")
    } else if matches!(event, Event::Control(ControlEvent::Limit { .. })) {
        Some("is at its limit")
    } else {
        before.filter(|_| !goes_on)
    }
}

/// What the thread does after an event, where the event tells.
fn phase_after(event: &Event) -> Option<Phase> {
    match event {
        Event::Request(
            RequestEvent::RequestRecorded { .. }
            | RequestEvent::RetryDue { .. }
            | RequestEvent::CognitionOut { stop: StopReason::ToolUse, .. },
        )
        | Event::Tool(ToolEvent::ToolCallResult { .. }) => Some(Phase::Asking),
        Event::Request(RequestEvent::RetryScheduled { delay_ms, .. }) => {
            Some(Phase::Retrying { seconds: delay_ms.div_ceil(1_000) })
        }
        Event::Tool(ToolEvent::ToolCallStart { tool, item, .. }) => {
            Some(Phase::Tool(super::approval::short(item.as_ref().unwrap_or(tool)).to_owned()))
        }
        Event::Tool(ToolEvent::ShellStarted { .. }) => Some(Phase::Tool("!".to_owned())),
        Event::Approval(ApprovalEvent::ApprovalRequested { .. }) => Some(Phase::Approval),
        Event::Control(ControlEvent::CancelRequested { scope: CancelScope::Turn }) => Some(Phase::Cancelling),
        // After a cut another try may follow: how the thread stands tells.
        Event::Request(RequestEvent::CognitionOut { stop, .. }) => {
            (!matches!(stop, StopReason::Truncated { .. })).then_some(Phase::Idle)
        }
        Event::Control(
            ControlEvent::TurnCancelled { .. } | ControlEvent::Limit { .. } | ControlEvent::ThreadSuspended { .. },
        )
        | Event::Thread(
            ThreadEvent::ThreadCompleted { .. }
            | ThreadEvent::ThreadError { .. }
            | ThreadEvent::ThreadCancelled { .. }
            | ThreadEvent::ThreadKilled { .. }
            | ThreadEvent::ThreadContinued { .. },
        ) => Some(Phase::Idle),
        Event::Thread(
            ThreadEvent::ThreadStarted { .. }
            | ThreadEvent::ChildThreadStarted { .. }
            | ThreadEvent::ChildThreadEnded { .. }
            | ThreadEvent::ClockJumped { .. }
            | ThreadEvent::WorkerStarted { .. }
            | ThreadEvent::WorkerEnded { .. }
            | ThreadEvent::ThreadForked { .. }
            | ThreadEvent::LogRepaired { .. }
            | ThreadEvent::DirectiveReturn { .. }
            | ThreadEvent::ThreadHandoff { .. }
            | ThreadEvent::ExtensionEntry { .. }
            | ThreadEvent::RiskNoted { .. }
            | ThreadEvent::Notice { .. },
        )
        | Event::Prompt(_)
        | Event::Settings(_)
        | Event::Control(
            ControlEvent::HooksCalled { .. }
            | ControlEvent::HookDecided { .. }
            | ControlEvent::ThreadQueued { .. }
            | ControlEvent::ThreadAdmitted {}
            | ControlEvent::CancelRequested { .. },
        )
        | Event::Context(_)
        | Event::Approval(ApprovalEvent::ApprovalGiven { .. } | ApprovalEvent::PermissionDenied { .. })
        | Event::Tool(
            ToolEvent::ToolProcess { .. }
            | ToolEvent::ToolCallEarly { .. }
            | ToolEvent::FileCheckpointed { .. }
            | ToolEvent::ResultKept { .. }
            | ToolEvent::ResultImage { .. }
            | ToolEvent::CallPrepared { .. }
            | ToolEvent::ResultPrepared { .. }
            | ToolEvent::ShellEnded { .. }
            | ToolEvent::CommandStarted { .. }
            | ToolEvent::CommandEnded { .. },
        )
        | Event::Request(
            RequestEvent::TokenDelta { .. }
            | RequestEvent::CognitionReasoning { .. }
            | RequestEvent::ErrorClassified { .. }
            | RequestEvent::AnswerPrepared { .. }
            | RequestEvent::CallCharged { .. },
        )
        | Event::Unknown { .. } => None,
    }
}
