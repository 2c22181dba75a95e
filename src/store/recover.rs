//! Reaping: what a process left behind that died while it ran a thread.
//!
//! Whoever lists the threads does it. A thread whose row names a process but whose lock is free has lost that process:
//! the answer it had in flight goes into the log as `lost`, the thread ends in `error` with the reason, its row is
//! freed. The lock is held throughout, so two reapers cannot meet. A thread from elsewhere is never touched.

use super::layout::Layout;
use super::log;
use super::processes;
use super::registry::ThreadEntry;
use super::summaries::Summaries;
use super::summary::Summarise;
use super::thread::{FileStore, Inflight, Lock, Opened};
use crate::domain::background::BackgroundCommand;
use crate::domain::event::{Delta, StopReason};
use crate::domain::postmortem::PROCESS_LOST;
use crate::domain::{
    CallId, ContextEvent, Cost, Event, ExtensionEntry, Message, Money, PromptEvent, Record, RequestEvent,
    SettingsEvent, Status, ThreadEvent, ThreadId, ThreadOrigin, Timestamp, Tokens, ToolEvent, Usage,
};
use crate::ports::{StoreError, ThreadStore};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Turns kept deltas into text, thinking and the message that goes back to the provider.
pub type Fold = fn(Vec<Delta>) -> (String, String, Message);

/// What the engine makes of what is kept: the store knows files, not what follows from events.
#[derive(Clone, Copy, Debug)]
pub struct Replay {
    pub answer: Fold,
    pub summary: Summarise,
}

/// Ends every thread among `rows` whose process is gone, and returns their ids. One that cannot be mended is logged and
/// skipped.
pub(super) fn reap(layout: &Layout, rows: Vec<ThreadEntry>, now: Timestamp, replay: Replay) -> Vec<ThreadId> {
    let mut reaped = Vec::new();
    for row in rows {
        if let Some(socket) = &row.socket {
            remove_socket(layout, &row.thread_id, Path::new(socket));
        }
        match reap_thread(layout, &row.thread_id, now, replay) {
            Ok(true) => reaped.push(row.thread_id),
            Ok(false) => {}
            Err(error) => tracing::warn!(thread = %row.thread_id, %error, "could not be reaped"),
        }
    }
    reaped
}

/// Removes the socket of a process that died, if none runs the thread now. It is held meanwhile, so that nobody begins to
/// listen there.
pub fn remove_socket(layout: &Layout, id: &ThreadId, socket: &Path) {
    let is_socket = std::fs::symlink_metadata(socket).is_ok_and(|found| found.file_type().is_socket());
    if let Ok(Some(_lock)) = Lock::take(&layout.thread(id))
        && is_socket
    {
        let _gone_already = std::fs::remove_file(socket);
    }
}

/// Mends one thread if its process is gone; false when it is alive or had ended in order.
///
/// # Errors
/// Any [`StoreError`]; [`StoreError::Elsewhere`] for a thread of somebody else's, which is left as it is.
pub fn reap_thread(layout: &Layout, id: &ThreadId, now: Timestamp, replay: Replay) -> Result<bool, StoreError> {
    let Some(opened) = FileStore::open(layout, id, None, replay.summary, &Summaries::start(layout))? else {
        return Ok(false);
    };
    processes::end_left_behind(layout, id);
    let events = epilogue(&opened, replay.answer);
    let cost = with_charged(opened.summary.cost, &events);
    let Opened { mut store, summary, records, inflight, .. } = opened;
    let failed = events.iter().any(|event| matches!(event, Event::Thread(ThreadEvent::ThreadError { .. })));
    let is_free = cost == summary.cost;
    let is_draft = summary.lineage.origin == ThreadOrigin::Screen && is_unused(&records);
    if failed && inflight.is_none() && is_draft && is_free {
        // Of a draft that was being written nothing is left to go on with. What a command line or a thread asked for is
        // looked for by its id, and says how it ended.
        store.discard();
        return Ok(true);
    }
    for event in events {
        store.append(&Record { timestamp: now, thread_id: id.clone(), event })?;
    }
    store.sync()()?;
    store.clear_inflight()?;
    let status = if failed { Status::Error } else { summary.status };
    let snapshot = crate::ports::store::Snapshot {
        status,
        waiting: summary.waiting.filter(|_| !failed),
        model: summary.model,
        cost,
        context: summary.context,
        limits: summary.limits,
        title: Some(summary.title),
        archived: summary.archived,
        waits_for: summary.waits_for.filter(|_| !failed),
        capabilities: None,
    };
    store.save(&snapshot);
    store.close();
    Ok(failed)
}

/// The sum with what these events charge.
fn with_charged(mut cost: Cost, events: &[Event]) -> Cost {
    for event in events {
        if let Event::Request(RequestEvent::CallCharged { usage, spend, .. })
        | Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::ModelCall { usage, spend, .. } }) =
            event
        {
            cost.charge(*usage, *spend);
        }
    }
    cost
}

/// Whether nobody ever said or ran anything in a thread with this log, and nothing was answered.
fn is_unused(records: &[Record]) -> bool {
    !records.iter().any(is_use)
}

fn is_use(record: &Record) -> bool {
    match &record.event {
        // A directive that is started says nothing of a person's.
        Event::Prompt(
            PromptEvent::PromptQueued { text, images, .. } | PromptEvent::CognitionIn { text, images, .. },
        ) => !text.trim().is_empty() || !images.is_empty(),
        Event::Request(request) => matches!(
            request,
            RequestEvent::CognitionOut { .. }
                | RequestEvent::CognitionReasoning { .. }
                | RequestEvent::AnswerPrepared { .. }
                | RequestEvent::CallCharged { .. }
        ),
        Event::Tool(_)
        | Event::Settings(SettingsEvent::TitleSet { .. })
        | Event::Thread(ThreadEvent::ExtensionEntry {
            entry: ExtensionEntry::ModelCallSent { .. } | ExtensionEntry::ModelCall { .. },
        }) => true,
        Event::Thread(_)
        | Event::Prompt(
            PromptEvent::PromptWithdrawn { .. }
            | PromptEvent::PromptPrepared { .. }
            | PromptEvent::PromptHandled { .. }
            | PromptEvent::QueueArranged { .. }
            | PromptEvent::QueueReleased {},
        )
        | Event::Settings(_)
        | Event::Context(_)
        | Event::Approval(_)
        | Event::Control(_)
        | Event::Unknown { .. } => false,
    }
}

/// Whether the log tells of anything that was said, answered or run. What does not read tells of nothing.
pub(super) fn was_spoken_in(layout: &Layout, id: &ThreadId) -> bool {
    let Ok(log) = layout.log(id) else { return false };
    log::pages(&log).flatten().any(|page| page.into_records().any(|record| is_use(&record)))
}

/// Removes the thread of a draft, if nothing was said in it and no process runs it.
pub(super) fn clear_draft(layout: &Layout, id: &ThreadId, replay: Replay) {
    match FileStore::open(layout, id, None, replay.summary, &Summaries::start(layout)) {
        Ok(Some(Opened { mut store, records, .. })) if is_unused(&records) => store.discard(),
        Ok(_) => {}
        Err(error) => tracing::warn!(thread = %id, %error, "a draft could not be cleared away"),
    }
}

/// As [`reap_thread`], where a thread is about to be looked at: what cannot be mended can still be read.
pub fn mend(layout: &Layout, id: &ThreadId, now: Timestamp, replay: Replay) {
    match reap_thread(layout, id, now, replay) {
        Ok(_) | Err(StoreError::Elsewhere { .. }) => {}
        Err(error) => tracing::warn!(thread = %id, %error, "could not be reaped"),
    }
}

/// The events that close a log whose process died: nothing when it had said goodbye.
#[must_use]
pub fn epilogue(opened: &Opened, fold: Fold) -> Vec<Event> {
    let mut events = Vec::new();
    if let Some(repair) = opened.repair {
        events
            .push(Event::Thread(ThreadEvent::LogRepaired { cut_bytes: repair.cut_bytes, at_offset: repair.at_offset }));
    }
    // The last word about a process: that it took the thread over, or that it let go.
    let taken_over = |event: &Event| matches!(event, Event::Thread(ThreadEvent::WorkerStarted { .. }));
    let let_go = |event: &Event| {
        matches!(
            event,
            Event::Thread(
                ThreadEvent::WorkerEnded { .. }
                    | ThreadEvent::ThreadCompleted { .. }
                    | ThreadEvent::ThreadError { .. }
                    | ThreadEvent::ThreadCancelled { .. }
                    | ThreadEvent::ThreadKilled { .. }
                    | ThreadEvent::ThreadContinued { .. }
            )
        )
    };
    let mut backwards = opened.records.iter().rev().map(|record| &record.event);
    if !backwards.find(|event| taken_over(event) || let_go(event)).is_some_and(taken_over) {
        return events;
    }
    // Another thread goes on already, whatever this one had left to do.
    let handed_off = opened.records.iter().rev().find_map(|record| {
        let Event::Thread(ThreadEvent::ThreadHandoff { new_thread_id, .. }) = &record.event else { return None };
        Some(new_thread_id.clone())
    });
    if let Some(new_thread_id) = handed_off {
        events.push(Event::Thread(ThreadEvent::ThreadContinued { cost: opened.summary.cost, new_thread_id }));
        return events;
    }
    match opened.inflight.as_ref().and_then(|inflight| lost_answer(opened, inflight, fold)) {
        Some(answer) => events.extend(answer),
        None => events.extend(unanswered_request(&opened.records)),
    }
    events.extend(unended_side_calls(&opened.records));
    let cost = with_charged(opened.summary.cost, &events);
    events.extend(unanswered(&opened.records).into_iter().map(Event::interrupted));
    events.extend(unended_shell(&opened.records).map(Event::shell_interrupted));
    events.extend(unended_commands(&opened.records).iter().map(|command| Event::command_interrupted(&command.name)));
    events.push(Event::Thread(ThreadEvent::ThreadError { cost, error: PROCESS_LOST.into() }));
    events
}

/// The tool calls of the newest answer that have no result.
fn unanswered(records: &[Record]) -> Vec<&CallId> {
    let mut open: Vec<&CallId> = Vec::new();
    for record in records {
        if let Event::Request(RequestEvent::CognitionOut { message, .. }) = &record.event {
            open = message.calls().map(|call| &call.call_id).collect();
        } else if let Event::Tool(ToolEvent::ToolCallResult { call_id, .. }) = &record.event {
            open.retain(|own| *own != call_id);
        }
    }
    open
}

/// The person's own command that has not ended.
fn unended_shell(records: &[Record]) -> Option<&CallId> {
    let mut open = None;
    for record in records {
        if let Event::Tool(ToolEvent::ShellStarted { call_id, .. }) = &record.event {
            open = Some(call_id);
        } else if let Event::Tool(ToolEvent::ShellEnded { .. }) = &record.event {
            open = None;
        }
    }
    open
}

/// What closes the calls of models that extensions were waiting for. How far their answers came nobody knows: what was sent
/// is counted, in tokens alone, but for a model that costs nothing.
fn unended_side_calls(records: &[Record]) -> Vec<Event> {
    let mut open: Vec<(u32, ExtensionEntry)> = Vec::new();
    for record in records {
        let Event::Thread(ThreadEvent::ExtensionEntry { entry }) = &record.event else { continue };
        if let ExtensionEntry::ModelCallSent { number, from, model, body, sent } = entry {
            let over = ExtensionEntry::ModelCall {
                number: Some(*number),
                from: from.clone(),
                model: model.clone(),
                body: body.clone(),
                usage: Usage { input: *sent, ..Usage::default() },
                spend: (model.provider == "scripted").then_some(Money::ZERO),
                failed: Some(PROCESS_LOST.into()),
            };
            open.push((*number, over));
        } else if let ExtensionEntry::ModelCall { number: Some(over), .. } = entry {
            open.retain(|(number, _)| number != over);
        }
    }
    open.into_iter().map(|(_, entry)| Event::Thread(ThreadEvent::ExtensionEntry { entry })).collect()
}

/// The commands beside the conversation that have not ended.
fn unended_commands(records: &[Record]) -> Vec<BackgroundCommand> {
    let mut commands = Vec::new();
    for record in records {
        if let Event::Tool(event) = &record.event {
            BackgroundCommand::follow(&mut commands, event, record.timestamp);
        }
    }
    commands.retain(BackgroundCommand::runs);
    commands
}

/// The answer that was in flight, unless the log has it already.
fn lost_answer(opened: &Opened, inflight: &Inflight, fold: Fold) -> Option<Vec<Event>> {
    let records = opened.records.iter().rev();
    let (model, sent_at, sent) = records.clone().find_map(|record| {
        let Event::Request(RequestEvent::RequestRecorded { request, model, tokens, .. }) = &record.event else {
            return None;
        };
        (*request == inflight.request).then(|| (model.clone(), record.timestamp, *tokens))
    })?;
    let answered = records
        .take_while(|record| record.timestamp >= sent_at)
        .any(|record| matches!(&record.event, Event::Request(RequestEvent::CognitionOut { request, .. }) if *request == inflight.request));
    if answered {
        return None;
    }
    let (text, thinking, message) = fold(inflight.deltas.clone());
    let mut events = Vec::new();
    // What it has cost nobody was told; without a price at hand it is counted in tokens.
    let output = Tokens::of_bytes(text.len() + thinking.len());
    let usage = Usage { input: sent, output, ..Usage::default() };
    let spend = (model.provider == "scripted").then_some(Money::ZERO);
    events.push(Event::Request(RequestEvent::CallCharged { request: inflight.request, usage, spend }));
    if !thinking.is_empty() {
        events.push(Event::Request(RequestEvent::CognitionReasoning { text: thinking }));
    }
    events.push(Event::Request(RequestEvent::CognitionOut {
        text,
        model,
        request: inflight.request,
        stop: StopReason::Lost,
        usage: Usage::default(),
        spend: None,
        message,
        elapsed_ms: 0,
    }));
    Some(events)
}

/// What is counted of a request that was sent and of whose answer nothing had come.
fn unanswered_request(records: &[Record]) -> Option<Event> {
    let mut open = None;
    for record in records {
        match &record.event {
            Event::Request(RequestEvent::RequestRecorded { request, model, tokens, .. }) => {
                open = Some((*request, model, *tokens));
            }
            // Its answer, its error, that it was given up, or what became of a request for a summary.
            Event::Request(_)
            | Event::Context(ContextEvent::ContextCompacted { .. } | ContextEvent::BranchSummarised { .. })
            | Event::Control(_)
            | Event::Tool(_)
            | Event::Thread(ThreadEvent::WorkerStarted { .. }) => open = None,
            Event::Thread(_)
            | Event::Settings(_)
            | Event::Prompt(_)
            | Event::Context(_)
            | Event::Approval(_)
            | Event::Unknown { .. } => {}
        }
    }
    open.map(|(request, model, tokens)| {
        let usage = Usage { input: tokens, ..Usage::default() };
        let spend = (model.provider == "scripted").then_some(Money::ZERO);
        Event::Request(RequestEvent::CallCharged { request, usage, spend })
    })
}

/// Whether a process holds the thread now.
///
/// # Errors
/// [`StoreError::Io`].
pub fn is_held(layout: &Layout, id: &ThreadId) -> Result<bool, StoreError> {
    let folder = layout.thread(id);
    if !folder.lock().exists() {
        return Ok(false);
    }
    Ok(Lock::take(&folder)?.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::Process;
    use crate::domain::{ModelRef, ThreadKind};
    use crate::ports::process;
    use crate::store::log;
    use crate::store::log::LogWriter;
    use crate::store::summary::Summary;

    fn fold(deltas: Vec<Delta>) -> (String, String, Message) {
        let text: String = deltas
            .into_iter()
            .filter_map(|delta| if let Delta::Text { text } = delta { Some(text) } else { None })
            .collect();
        (text.clone(), String::new(), Message::assistant(text))
    }

    const REPLAY: Replay = Replay { answer: fold, summary: |_, _| None };

    fn thread() -> (tempfile::TempDir, Layout, ThreadId) {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path(), &project.path().join("state"));
        let id = layout.claim("levain/chat", Timestamp(1)).unwrap();
        let model = ModelRef::new("scripted", "demo");
        let summary = Summary::new(id.clone(), "levain/chat".into(), ThreadKind::Interactive, model, Timestamp(1));
        summary.write(&layout).unwrap();
        (project, layout, id)
    }

    fn write(layout: &Layout, id: &ThreadId, events: Vec<Event>) {
        let mut log = LogWriter::open(layout.thread(id).log(), id, layout.own_key().unwrap()).unwrap().0;
        for event in events {
            log.append(&Record { timestamp: Timestamp(2), thread_id: id.clone(), event }).unwrap();
        }
    }

    fn started() -> Vec<Event> {
        let model = ModelRef::new("scripted", "demo");
        vec![
            Event::Thread(ThreadEvent::WorkerStarted { pid: 1, version: "0".into() }),
            Event::Request(RequestEvent::RequestRecorded {
                request: 1,
                turn: 1,
                attempt: 1,
                model,
                tokens: Tokens(100),
            }),
        ]
    }

    fn events(layout: &Layout, id: &ThreadId) -> Vec<Event> {
        let page = log::read_forward(&layout.log(id).unwrap(), 0, 1 << 20).unwrap();
        page.into_records().map(|record| record.event).collect()
    }

    #[test]
    fn a_model_that_an_extension_was_calling_is_charged_once() {
        let (_project, layout, id) = thread();
        let entry = |entry| Event::Thread(ThreadEvent::ExtensionEntry { entry });
        let sent = |number| ExtensionEntry::ModelCallSent {
            number,
            from: "e.ts".into(),
            model: ModelRef::new("anthropic", "claude"),
            body: None,
            sent: Tokens(70),
        };
        let over = ExtensionEntry::ModelCall {
            number: Some(8),
            from: "e.ts".into(),
            model: ModelRef::new("anthropic", "claude"),
            body: None,
            usage: Usage { input: Tokens(5), ..Usage::default() },
            spend: Some(Money(2)),
            failed: None,
        };
        let mut events_so_far = started();
        events_so_far.extend([entry(sent(9)), entry(sent(8)), entry(over)]);
        let before = events_so_far.len();
        write(&layout, &id, events_so_far);
        assert!(reap_thread(&layout, &id, Timestamp(3), REPLAY).unwrap());
        let closed = events(&layout, &id).split_off(before);
        let Event::Thread(ThreadEvent::ExtensionEntry {
            entry: ExtensionEntry::ModelCall { number: Some(9), usage, spend: None, failed: Some(why), .. },
        }) = &closed[1]
        else {
            panic!("{closed:?}")
        };
        assert_eq!((usage.input, why.as_str()), (Tokens(70), PROCESS_LOST));
        // So is the request whose answer had not begun.
        assert!(
            matches!(&closed[0], Event::Request(RequestEvent::CallCharged { request: 1, usage, spend: Some(Money::ZERO) })
                if usage.input == Tokens(100))
        );
        let Event::Thread(ThreadEvent::ThreadError { cost, .. }) = &closed[2] else { panic!("{closed:?}") };
        assert_eq!((cost.usage.input, cost.unpriced), (Tokens(170), true));
    }

    #[test]
    fn a_request_for_a_summary_that_came_is_not_charged_again() {
        let (_project, layout, id) = thread();
        let mut before = started();
        // It is kept: somebody named it.
        before.push(Event::Settings(SettingsEvent::TitleSet { title: "one".into() }));
        before.push(Event::Context(ContextEvent::ContextCompacted {
            summary: "what was said".into(),
            kept: 1,
            summarised: 1,
            dropped: 0,
            tokens_before: Tokens(90),
            tokens_after: Tokens(20),
            request: Some(1),
            usage: Usage::default(),
            spend: None,
            reason: None,
            steps: Vec::new(),
            details: None,
        }));
        let count = before.len();
        write(&layout, &id, before);
        assert!(reap_thread(&layout, &id, Timestamp(3), REPLAY).unwrap());
        let closed = events(&layout, &id).split_off(count);
        assert!(matches!(&closed[..], [Event::Thread(ThreadEvent::ThreadError { .. })]), "{closed:?}");
    }

    #[test]
    fn the_answer_in_flight_is_kept_and_the_thread_ends_in_error() {
        let (_project, layout, id) = thread();
        write(&layout, &id, started());
        let kept = "{\"request\":1,\"deltas\":[{\"type\":\"text\",\"text\":\"half an \"}]}\n\
                    {\"request\":1,\"deltas\":[{\"type\":\"text\",\"text\":\"answer\"}]}\n{\"request\":1,\"del";
        std::fs::write(layout.thread(&id).inflight().path(), kept).unwrap();
        assert!(reap_thread(&layout, &id, Timestamp(9), REPLAY).unwrap());
        let events = events(&layout, &id);
        // Nobody said what it has cost: the estimate of what was sent, and of what had come.
        let usage = Usage { input: Tokens(100), output: Tokens::of_bytes("half an answer".len()), ..Usage::default() };
        assert!(
            matches!(&events[2], Event::Request(RequestEvent::CallCharged { request: 1, usage: charged, .. }) if *charged == usage)
        );
        assert!(
            matches!(&events[3], Event::Request(RequestEvent::CognitionOut { text, stop: StopReason::Lost, .. }) if text == "half an answer")
        );
        assert!(matches!(&events[4], Event::Thread(ThreadEvent::ThreadError { .. })));
        assert!(!layout.thread(&id).inflight().exists());
        assert_eq!(Summary::look(&layout, &id, |_, _| None).unwrap().status, Status::Error);
        assert!(!reap_thread(&layout, &id, Timestamp(9), REPLAY).unwrap(), "a second time there is nothing to mend");
    }

    #[test]
    fn calls_of_a_dead_process_get_a_result_and_their_processes_end() {
        use std::os::unix::process::CommandExt;
        let (_project, layout, id) = thread();
        let mut left = std::process::Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let call = |name: &str| crate::domain::ToolCall {
            call_id: CallId(name.into()),
            tool: "rye_bash".into(),
            input: serde_json::json!({}),
        };
        let blocks = ["a", "b", "c"].map(|name| crate::domain::Block::ToolCall(call(name)));
        let message = Message { role: crate::domain::Role::Assistant, blocks: blocks.into() };
        let mut events_before = started();
        events_before.extend([
            Event::Request(RequestEvent::CognitionOut {
                text: String::new(),
                model: ModelRef::new("scripted", "demo"),
                request: 1,
                stop: StopReason::ToolUse,
                usage: Usage::default(),
                spend: None,
                message,
                elapsed_ms: 1,
            }),
            Event::Tool(ToolEvent::ToolCallResult { call_id: CallId("a".into()), output: "ok".into(), error: None }),
            Event::Tool(ToolEvent::ToolProcess { call_id: CallId("b".into()), process: process::identify(left.id()) }),
        ]);
        write(&layout, &id, events_before);
        processes::note(&layout, &id, &process::identify(left.id()))().unwrap();
        assert!(reap_thread(&layout, &id, Timestamp(9), REPLAY).unwrap());
        assert!(!left.wait().unwrap().success());
        let events = events(&layout, &id);
        let interrupted: Vec<_> = events
            .iter()
            .filter_map(|event| {
                let Event::Tool(ToolEvent::ToolCallResult { call_id, error: Some(_), .. }) = event else { return None };
                Some(call_id.0.as_str())
            })
            .collect();
        assert_eq!(interrupted, ["b", "c"]);
        assert!(matches!(events.last(), Some(Event::Thread(ThreadEvent::ThreadError { .. }))));
    }

    /// What the log says is not believed, nor is a note of another boot or of another process that got the number.
    #[test]
    fn s01_only_a_noted_process_of_this_boot_is_ended() {
        use std::os::unix::process::CommandExt;
        let (_project, layout, id) = thread();
        let mut other = std::process::Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let theirs = process::identify(other.id());
        let mut before = started();
        before.push(Event::Tool(ToolEvent::ToolProcess { call_id: CallId("b".into()), process: theirs }));
        before.push(Event::Tool(ToolEvent::ToolProcess {
            call_id: CallId("c".into()),
            process: Process { group: 1, started: Some(1) },
        }));
        write(&layout, &id, before);
        let noted = |process: Process, boot: &str| {
            processes::note(&layout, &id, &process)().unwrap();
            let path = layout.processes().join(format!("{}.json", process.group));
            let text = std::fs::read_to_string(&path).unwrap().replace(&process::boot(), boot);
            std::fs::write(path, text).unwrap();
        };
        noted(theirs, "another-boot");
        reap_thread(&layout, &id, Timestamp(9), REPLAY).unwrap();
        assert!(!layout.processes().join(format!("{}.json", theirs.group)).exists(), "it is forgotten all the same");
        noted(Process { started: Some(1), ..theirs }, &process::boot());
        reap_thread(&layout, &id, Timestamp(9), REPLAY).unwrap();
        processes::note(&layout, &ThreadId::new("other", 1), &theirs)().unwrap();
        reap_thread(&layout, &id, Timestamp(9), REPLAY).unwrap();
        assert!(other.try_wait().unwrap().is_none(), "another process was ended");
        processes::note(&layout, &id, &theirs)().unwrap();
        reap_thread(&layout, &id, Timestamp(9), REPLAY).unwrap();
        assert!(!other.wait().unwrap().success());
    }

    #[test]
    fn a_thread_that_is_held_or_has_ended_is_left_alone() {
        let (_project, layout, id) = thread();
        write(&layout, &id, started());
        let held = Lock::take(&layout.thread(&id)).unwrap();
        assert!(held.is_some() && is_held(&layout, &id).unwrap());
        assert!(!reap_thread(&layout, &id, Timestamp(9), REPLAY).unwrap());
        drop(held);
        write(
            &layout,
            &id,
            vec![Event::Thread(ThreadEvent::WorkerEnded { reason: crate::domain::event::EndReason::Idle })],
        );
        assert!(!reap_thread(&layout, &id, Timestamp(9), REPLAY).unwrap());
        assert_eq!(events(&layout, &id).len(), 3);
    }
}
