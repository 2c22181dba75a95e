//! A thread of one's own that begins with what was said in another.
//!
//! Words are taken over, power is not: what the other thread was allowed, its limits, what it cost, and messages that wait
//! in it stay behind. What surrounded the conversation is planned anew, since where it came from is the other's word.

use super::authentic::LogKey;
use super::layout::Layout;
use super::log::{self, LogWriter, ThreadLog};
use super::summary::{Summarise, Summary};
use crate::domain::command::QueuedPrompt;
use crate::domain::{
    Attachment, Ceiling, ContextEvent, Event, ExtensionEntry, ForkPoint, LayerChange, Lineage, ModelRef, PromptEvent,
    Record, RequestEvent, SetLimits, SettingsEvent, Successor, ThreadEvent, ThreadId, ThreadKind, ThreadOrigin,
    Timestamp, ToolEvent, Usage, Values,
};
use crate::ports::StoreError;
use crate::ports::executor::ThreadSpec;
use serde_json::Value;

/// A fork that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forked {
    pub id: ThreadId,
    /// The prompt that was left behind, which may be said again.
    pub prompt: Option<Left>,
}

/// A prompt that was left behind, with what went along with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub text: String,
    pub files: Vec<Attachment>,
}

/// What a fork is made of, beside the words of the other thread.
#[derive(Clone, Debug)]
pub struct Fork {
    pub directive: String,
    pub inputs: Values,
    pub model: ModelRef,
    pub kind: ThreadKind,
    pub limits: SetLimits,
    pub lineage: Lineage,
    /// What the threads above it may do.
    pub ceilings: Vec<Ceiling>,
    /// What the person wants otherwise in its requests.
    pub changes: Vec<LayerChange>,
}

/// Makes the thread that goes on with the conversation of `from`, which has ended: with its directive, inputs, model, limits
/// and whatever the threads above it may do, beside it in the tree and behind it in its chain. `from` is left as it is.
///
/// # Errors
/// As [`make`]; [`StoreError::Elsewhere`] for a thread of somebody else's.
pub fn successor(
    layout: &Layout,
    from: &ThreadId,
    summarise: Summarise,
    now: Timestamp,
) -> Result<ThreadId, StoreError> {
    let summary = Summary::believed(layout, from, summarise)?;
    let limits = summary.set_limits();
    let Summary { directive, inputs, model, kind, lineage, ceilings, .. } = summary;
    let fork = Fork {
        directive,
        inputs,
        model,
        kind,
        limits,
        lineage: lineage.successor(from),
        ceilings,
        changes: Vec::new(),
    };
    make(layout, from, ForkPoint::End, fork, now).map(|forked| forked.id)
}

/// Makes the fork of `from`, which is left as it is. It is on disk then.
///
/// # Errors
/// [`StoreError`], [`StoreError::NotSaid`] where there is no such prompt or request; of what was begun an empty thread may
/// stay.
pub fn make(
    layout: &Layout,
    from: &ThreadId,
    until: ForkPoint,
    fork: Fork,
    now: Timestamp,
) -> Result<Forked, StoreError> {
    let said = layout.log(from)?;
    let (end, prompt) = end_of(&said, from, until)?;
    let Fork { directive, inputs, model, kind, limits, lineage, ceilings, changes } = fork;
    let handed_off = lineage.origin == ThreadOrigin::Handoff;
    let spec = ThreadSpec { id: None, directive, inputs, model, kind, limits, lineage, ceilings };
    let mut begun = NewThread::begin(layout, spec, now)?;
    let text = if handed_off {
        format!("this thread goes on with the messages of {from}")
    } else {
        format!("this thread begins with the messages of {from}, without its approvals, limits and queued messages")
    };
    begun.write(now, Event::Thread(ThreadEvent::Notice { text }))?;
    let mut until = 0;
    'pages: for page in log::pages(&said) {
        let page = page?;
        for (offset, record) in page.lines.into_iter().filter_map(|line| Some((line.offset, line.record?))) {
            if end.is_some_and(|end| offset >= end) {
                break 'pages;
            }
            if let Some(event) = words(record.event).filter(|event| !is_state(event) || !said.is_elsewhere()) {
                begun.write(now, event)?;
            }
        }
        until = page.end;
    }
    let until = end.unwrap_or(until);
    begun.write(now, Event::Thread(ThreadEvent::ThreadForked { from: from.clone(), until }))?;
    if !changes.is_empty() {
        begun.write(now, Event::Settings(SettingsEvent::LayersChanged { layers: changes }))?;
    }
    begun.finish(layout).map(|id| Forked { id, prompt })
}

/// Makes the thread that goes on with `from`: beside it in the tree and behind it in its chain, with what `successor` says. It
/// is on disk then, and has not begun.
///
/// # Errors
/// As [`successor`].
pub(super) fn hand_off(
    layout: &Layout,
    from: &ThreadId,
    successor: Successor,
    now: Timestamp,
) -> Result<ThreadId, StoreError> {
    let summary = Summary::read_own(layout, from)?;
    let limits = SetLimits { limits: successor.limits, limits_by: summary.limits_by };
    let Summary { directive, inputs, kind, lineage, ceilings, .. } = summary;
    let lineage = lineage.successor(from);
    let spec = ThreadSpec { id: None, directive, inputs, model: successor.model, kind, limits, lineage, ceilings };
    let mut begun = NewThread::begin(layout, spec, now)?;
    begun.write(now, Event::Context(successor.inherited))?;
    if !successor.changes.is_empty() {
        begun.write(now, Event::Settings(SettingsEvent::LayersChanged { layers: successor.changes }))?;
    }
    if let Some(title) = successor.title {
        begun.write(now, Event::Settings(SettingsEvent::TitleSet { title }))?;
    }
    if let Value::Object(values) = successor.state.value()
        && !values.is_empty()
    {
        begun.write(now, Event::Settings(SettingsEvent::StateSet { values }))?;
    }
    for (number, queued) in (1..).zip(successor.prompts) {
        let QueuedPrompt { text, mode, images, files, client, .. } = queued;
        let prompt = PromptEvent::PromptQueued { prompt: number, text, mode, images, files, client };
        begun.write(now, Event::Prompt(prompt))?;
    }
    begun.finish(layout)
}

/// A thread that is being made of what was said elsewhere: its log has begun.
#[derive(Debug)]
pub struct NewThread {
    id: ThreadId,
    writer: LogWriter,
}

impl NewThread {
    /// A new thread, whose log says how it was started.
    ///
    /// # Errors
    /// [`StoreError`]; an empty thread may stay.
    pub fn begin(layout: &Layout, spec: ThreadSpec, now: Timestamp) -> Result<Self, StoreError> {
        let Summary { thread_id: id, .. } = Summary::make(layout, spec.clone(), now)?;
        let key: &LogKey = layout.own_key()?;
        let (writer, _) = LogWriter::open(layout.thread(&id).log(), &id, key)?;
        let mut begun = Self { id, writer };
        let ThreadSpec { directive, inputs, model, kind, limits, lineage, ceilings, .. } = spec;
        let SetLimits { limits, limits_by } = limits;
        let project = layout.project().display().to_string();
        let started = ThreadEvent::ThreadStarted {
            directive,
            kind,
            model,
            limits,
            limits_by,
            project,
            inputs,
            lineage,
            ceilings,
        };
        begun.write(now, Event::Thread(started))?;
        Ok(begun)
    }

    #[must_use]
    pub fn id(&self) -> &ThreadId {
        &self.id
    }

    /// The byte at which its log ends.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.writer.end()
    }

    /// Adds an event, and tells at which byte it is.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn write(&mut self, timestamp: Timestamp, event: Event) -> Result<u64, StoreError> {
        let record = Record { timestamp, thread_id: self.id.clone(), event };
        self.writer.append(&record).map(|(offset, _)| offset)
    }

    /// It is on disk then.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn finish(self, layout: &Layout) -> Result<ThreadId, StoreError> {
        self.writer.sync()()?;
        let folder = layout.thread(&self.id);
        folder.path().sync_folders().map_err(super::layout::failed("sync", folder.path()))?;
        Ok(self.id)
    }
}

/// The byte of a log at which `until` is, its end without one; and the prompt that is the next.
fn end_of(log: &ThreadLog, from: &ThreadId, until: ForkPoint) -> Result<(Option<u64>, Option<Left>), StoreError> {
    let not_said = |what: String| StoreError::NotSaid { what, id: from.to_string() };
    let (mut said, chosen) = match until {
        ForkPoint::End => return Ok((None, None)),
        ForkPoint::Entry(at) => {
            let end = behind(log, at)?.ok_or_else(|| not_said(format!("entry {at:08x}")))?;
            return Ok(match end {
                Behind::Prompt(left) => (Some(at), Some(left)),
                Behind::Other(end) => (end, None),
            });
        }
        ForkPoint::Prompt(back) => {
            let Prompts { said, .. } = Prompts::of(log, until)?;
            let chosen = said.len().checked_sub(back).filter(|_| back > 0);
            (said, chosen)
        }
        ForkPoint::Request(number) => {
            let Prompts { said, at_request } = Prompts::of(log, until)?;
            (said, at_request.ok_or_else(|| not_said(format!("request {number}")))?.checked_sub(1))
        }
    };
    let chosen = chosen.filter(|index| *index < said.len()).map(|index| said.swap_remove(index));
    let (place, left) = chosen.ok_or_else(|| not_said("that prompt".to_owned()))?;
    Ok((Some(place), Some(left)))
}

/// Where a fork at an entry ends.
enum Behind {
    /// Before it, since it is this prompt.
    Prompt(Left),
    /// Behind it, at this byte, or at the end of the log.
    Other(Option<u64>),
}

/// Where a fork ends that is to have the entry at this byte; `None` where nothing is that could be gone on from.
fn behind(log: &ThreadLog, at: u64) -> Result<Option<Behind>, StoreError> {
    let (mut found, mut prepared) = (false, None);
    for page in log::pages(log) {
        for line in page?.lines {
            // What handlers made of it is made again.
            match line.record.as_ref().map(|record| &record.event) {
                Some(Event::Prompt(PromptEvent::PromptPrepared { typed, .. })) if !found => prepared.clone_from(typed),
                Some(Event::Prompt(PromptEvent::CognitionIn { .. })) if line.offset < at => prepared = None,
                _ => {}
            }
            let Some(Record { event, .. }) = line.record.filter(|_| line.offset >= at) else { continue };
            let begins = begins_entry(&event);
            if found && begins {
                return Ok(Some(Behind::Other(Some(line.offset))));
            }
            if !found && line.offset > at {
                return Ok(None);
            }
            if found {
                continue;
            }
            if let Event::Prompt(PromptEvent::CognitionIn { text, files, .. }) = event {
                return Ok(Some(Behind::Prompt(Left { text: prepared.unwrap_or(text), files })));
            }
            if !begins && !matches!(event, Event::Tool(ToolEvent::ToolCallResult { .. } | ToolEvent::ShellEnded { .. }))
            {
                return Ok(None);
            }
            found = true;
        }
    }
    Ok(found.then_some(Behind::Other(None)))
}

/// Whether something new is said with it, which a fork at what was said before does without.
fn begins_entry(event: &Event) -> bool {
    matches!(
        event,
        Event::Prompt(PromptEvent::CognitionIn { .. } | PromptEvent::PromptPrepared { .. })
            | Event::Request(RequestEvent::CognitionOut { .. } | RequestEvent::CognitionReasoning { .. })
            | Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Message { .. } })
            | Event::Context(ContextEvent::BranchSummarised { .. } | ContextEvent::ContextInherited { .. })
            | Event::Tool(ToolEvent::ShellStarted { .. })
    )
}

/// The prompts of a log.
struct Prompts {
    /// Each with the byte at which it is.
    said: Vec<(u64, Left)>,
    /// How many of them had been said when the request was made that was asked for.
    at_request: Option<usize>,
}

impl Prompts {
    fn of(log: &ThreadLog, until: ForkPoint) -> Result<Self, StoreError> {
        let (mut said, mut at_request, mut typed) = (Vec::new(), None, None);
        for page in log::pages(log) {
            for (offset, record) in page?.lines.into_iter().filter_map(|line| Some((line.offset, line.record?))) {
                if let Event::Prompt(PromptEvent::CognitionIn { text, files, .. }) = record.event {
                    said.push((offset, Left { text: typed.take().unwrap_or(text), files }));
                } else if let Event::Prompt(PromptEvent::PromptPrepared { typed: was, .. }) = record.event {
                    typed = was;
                } else if let Event::Request(RequestEvent::RequestRecorded { request, .. }) = record.event
                    && until == ForkPoint::Request(request)
                {
                    at_request = Some(said.len());
                }
            }
        }
        Ok(Self { said, at_request })
    }
}

/// Whether it changes what the thread keeps under names, by which hooks go, or what its requests are without: neither is taken
/// from somebody else's log.
fn is_state(event: &Event) -> bool {
    matches!(event, Event::Settings(SettingsEvent::StateSet { .. } | SettingsEvent::LayersChanged { .. }))
}

/// What an event says that belongs to the conversation; `None` for one that is about how the thread was run.
fn words(event: Event) -> Option<Event> {
    match event {
        Event::Prompt(PromptEvent::CognitionIn { text, role, images, files, .. }) => {
            Some(Event::Prompt(PromptEvent::CognitionIn { text, role, images, files, prompt: None }))
        }
        Event::Request(RequestEvent::CognitionOut { text, model, stop, message, .. }) => {
            Some(Event::Request(RequestEvent::CognitionOut {
                text,
                model,
                stop,
                message,
                // Of no request of this thread, and paid by somebody else.
                request: 0,
                usage: Usage::default(),
                spend: None,
                elapsed_ms: 0,
            }))
        }
        // Of no prompt that has a number here; what handlers made of the system text was for that prompt.
        Event::Prompt(PromptEvent::PromptPrepared { messages, .. }) => (!messages.is_empty()).then(|| {
            let (typed, steps, system) = (None, Vec::new(), None);
            Event::Prompt(PromptEvent::PromptPrepared { prompt: 0, typed, steps, messages, system })
        }),
        // Paid by somebody else.
        Event::Context(ContextEvent::BranchSummarised { from, summary, .. }) => (!summary.is_empty()).then(|| {
            let (request, usage, spend, reason) = (None, Usage::default(), None, None);
            Event::Context(ContextEvent::BranchSummarised { from, summary, request, usage, spend, reason })
        }),
        Event::Settings(SettingsEvent::StateSet { .. } | SettingsEvent::LayersChanged { .. })
        | Event::Context(ContextEvent::ContextInherited { .. })
        | Event::Thread(ThreadEvent::ExtensionEntry {
            entry: ExtensionEntry::Message { .. } | ExtensionEntry::Details { terminate: true, .. },
        })
        | Event::Request(RequestEvent::CognitionReasoning { .. })
        | Event::Tool(
            ToolEvent::ResultKept { .. }
            | ToolEvent::ResultImage { .. }
            | ToolEvent::ToolCallStart { .. }
            | ToolEvent::ToolCallResult { .. }
            | ToolEvent::ShellStarted { .. }
            | ToolEvent::ShellEnded { .. },
        ) => Some(event),
        Event::Thread(_)
        | Event::Prompt(
            PromptEvent::PromptQueued { .. }
            | PromptEvent::PromptHandled { .. }
            | PromptEvent::PromptWithdrawn { .. }
            | PromptEvent::QueueArranged { .. }
            | PromptEvent::QueueReleased {},
        )
        | Event::Settings(_)
        | Event::Context(_)
        | Event::Request(
            RequestEvent::RequestRecorded { .. }
            | RequestEvent::TokenDelta { .. }
            | RequestEvent::ErrorClassified { .. }
            | RequestEvent::RetryScheduled { .. }
            | RequestEvent::RetryDue { .. }
            | RequestEvent::AnswerPrepared { .. }
            | RequestEvent::CallCharged { .. },
        )
        | Event::Control(_)
        | Event::Approval(_)
        | Event::Tool(
            ToolEvent::ToolProcess { .. }
            | ToolEvent::ToolCallEarly { .. }
            | ToolEvent::FileCheckpointed { .. }
            | ToolEvent::CallPrepared { .. }
            | ToolEvent::ResultPrepared { .. }
            | ToolEvent::CommandStarted { .. }
            | ToolEvent::CommandEnded { .. },
        )
        | Event::Unknown { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::PromptMode;
    use crate::domain::{Grant, Message, SettingsEvent};

    fn forged(event: Event) -> String {
        let record = Record { timestamp: Timestamp(5), thread_id: ThreadId::new("evil", 1), event };
        format!("{}\n", serde_json::to_string(&record).unwrap())
    }

    #[test]
    fn what_was_typed_is_said_again_not_what_handlers_made_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), &folder.path().join("state"));
        let from = layout.claim_as(&ThreadId::new("chat", 1)).unwrap();
        let said = |text: &str| {
            let (text, role) = (text.to_owned(), "user".to_owned());
            forged(Event::Prompt(PromptEvent::CognitionIn {
                text,
                role,
                prompt: None,
                images: Vec::new(),
                files: Vec::new(),
            }))
        };
        let prepared = |typed: Option<&str>| {
            let (typed, steps, messages, system) = (typed.map(str::to_owned), Vec::new(), Vec::new(), None);
            forged(Event::Prompt(PromptEvent::PromptPrepared { prompt: 0, typed, steps, messages, system }))
        };
        let log = [prepared(Some("code")), said("code PLEASE"), said("as it was"), prepared(None), said("so")].concat();
        std::fs::write(layout.thread(&from).log().path(), &log).unwrap();
        let own = layout.log(&from).unwrap();
        let prompts = Prompts::of(&own, ForkPoint::End).unwrap();
        let texts: Vec<&str> = prompts.said.iter().map(|(_, left)| left.text.as_str()).collect();
        assert_eq!(texts, ["code", "as it was", "so"]);
        for (at, said) in &prompts.said {
            let Some(Behind::Prompt(left)) = behind(&own, *at).unwrap() else { panic!("{at} is a prompt") };
            assert_eq!(left.text, said.text);
        }
    }

    #[test]
    fn s04_words_are_taken_over_and_power_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), &folder.path().join("state"));
        let from = layout.claim_as(&ThreadId::new("evil", 1)).unwrap();
        let model = ModelRef::new("scripted", "demo");
        let lines = [
            Event::Settings(SettingsEvent::PermissionsSet {
                grants: vec![Grant::new("*", false)],
                allowed: vec!["*".into()],
                confines: true,
            }),
            Event::Prompt(PromptEvent::CognitionIn {
                text: "hello".into(),
                role: "user".into(),
                prompt: Some(1),
                images: Vec::new(),
                files: Vec::new(),
            }),
            Event::Request(RequestEvent::CognitionOut {
                text: "hi".into(),
                model: model.clone(),
                request: 7,
                stop: crate::domain::event::StopReason::EndTurn,
                usage: Usage::default(),
                spend: None,
                message: Message::assistant("hi"),
                elapsed_ms: 1,
            }),
            Event::Prompt(PromptEvent::PromptQueued {
                prompt: 2,
                text: "rm".into(),
                mode: PromptMode::FollowUp,
                images: Vec::new(),
                files: Vec::new(),
                client: None,
            }),
        ];
        let log: String = lines.into_iter().map(forged).collect();
        std::fs::write(layout.thread(&from).log().path(), &log).unwrap();
        let (directive, inputs, limits) = ("levain/chat".to_owned(), Values::new(), SetLimits::default());
        let (lineage, ceilings) = (Lineage::fork(&from), Vec::new());
        let fork = Fork {
            directive,
            inputs,
            model,
            kind: ThreadKind::Interactive,
            limits,
            lineage,
            ceilings,
            changes: Vec::new(),
        };
        let id = make(&layout, &from, ForkPoint::End, fork.clone(), Timestamp(9)).unwrap().id;
        let own = layout.log(&id).unwrap();
        assert!(!own.is_elsewhere() && layout.log(&from).unwrap().is_elsewhere());
        let events: Vec<Event> = log::pages(&own)
            .flat_map(|page| page.unwrap().into_records().map(|record| record.event).collect::<Vec<_>>())
            .collect();
        assert!(matches!(
            events.as_slice(),
            [
                Event::Thread(ThreadEvent::ThreadStarted { .. }),
                Event::Thread(ThreadEvent::Notice { .. }),
                Event::Prompt(PromptEvent::CognitionIn { prompt: None, .. }),
                Event::Request(RequestEvent::CognitionOut { request: 0, .. }),
                Event::Thread(ThreadEvent::ThreadForked { until, .. })
            ] if *until == log.len() as u64
        ));
        assert_eq!(std::fs::read_to_string(layout.thread(&from).log().path()).unwrap(), log, "it is left as it was");
        let said = |until| make(&layout, &from, until, fork.clone(), Timestamp(9));
        let forked = said(ForkPoint::Prompt(1)).unwrap();
        assert_eq!(forked.prompt.map(|left| left.text).as_deref(), Some("hello"));
        let text = std::fs::read_to_string(layout.thread(&forked.id).log().path()).unwrap();
        assert!(!text.contains("hello") && !text.contains("cognition_out"), "{text}");
        // At an entry: before the prompt, behind the answer. At anything else nothing can be gone on from.
        let starts: Vec<u64> = log::pages(&layout.log(&from).unwrap())
            .flat_map(|page| page.unwrap().lines.into_iter().map(|line| line.offset).collect::<Vec<_>>())
            .collect();
        let text = |forked: &Forked| std::fs::read_to_string(layout.thread(&forked.id).log().path()).unwrap();
        let before = said(ForkPoint::Entry(starts[1])).unwrap();
        assert!(before.prompt.is_some() && !text(&before).contains("hello"));
        let behind = said(ForkPoint::Entry(starts[2])).unwrap();
        assert!(behind.prompt.is_none() && text(&behind).contains("cognition_out"));
        for until in [
            ForkPoint::Entry(starts[0]),
            ForkPoint::Entry(starts[3]),
            ForkPoint::Entry(starts[2] + 1),
            ForkPoint::Entry(1 << 40),
        ] {
            assert!(matches!(said(until), Err(StoreError::NotSaid { .. })), "{until:?}");
        }
        for until in [ForkPoint::Prompt(2), ForkPoint::Prompt(0), ForkPoint::Request(3)] {
            assert!(matches!(said(until), Err(StoreError::NotSaid { .. })), "{until:?}");
        }
    }
}
