//! The tree of a conversation, read from the logs of its threads: which go on with which, what was said in each, and what
//! stays behind where somebody goes on from an earlier place.

use crate::domain::conversation::{Branch, BranchedFrom, Conversation, Said, SaidKind, Span, entry_at};
use crate::domain::{
    ContextEvent, Entry, Event, ExtensionEntry, Lineage, Message, PromptEvent, RequestEvent, ThreadEvent, ThreadId,
    ThreadOrigin, Timestamp, Tokens, ToolEvent,
};
use crate::engine::compaction::retell;
use crate::ports::StoreError;
use crate::store::registry::{Part, ThreadEntry};
use crate::store::threads::Threads;
use crate::store::{Layout, log};
use crate::worker::host::REPLAY;
use std::collections::{HashMap, HashSet};

/// As many threads are looked through for those of a conversation.
const MOST_LOOKED_AT: usize = 100_000;

/// As many of them are read.
const MOST_THREADS: usize = 200;

/// As much of what was said is listed, in letters.
const LONGEST_LINE: usize = 200;

/// As much of a branch that was left is told, the newest first: half of what a request may hold by default.
const LONGEST_LEFT: Tokens = Tokens(100_000);

/// The conversation that the thread `id` is of.
///
/// # Errors
/// [`StoreError`]; [`StoreError::NoSuchThread`] where there is none.
pub fn read(layout: &Layout, id: &ThreadId, now: Timestamp) -> Result<Conversation, StoreError> {
    let rows = Threads::look(layout, now, REPLAY)?.list(Part::All, MOST_LOOKED_AT)?;
    let threads = of_one(&rows, id).ok_or_else(|| StoreError::NoSuchThread { id: id.to_string() })?;
    // One whose log does not read costs itself.
    let branch = |row: &&ThreadEntry| match branch(layout, row) {
        Ok(branch) => Some(branch),
        Err(error) => {
            tracing::warn!(thread = %row.thread_id, %error, "a thread of a conversation cannot be read");
            None
        }
    };
    Ok(Conversation::new(threads.iter().filter_map(branch).collect()))
}

/// The threads that are of one conversation with `id`, the oldest first.
fn of_one<'a>(rows: &'a [ThreadEntry], id: &ThreadId) -> Option<Vec<&'a ThreadEntry>> {
    let by_id: HashMap<&ThreadId, &ThreadEntry> = rows.iter().map(|row| (&row.thread_id, row)).collect();
    let mut next: HashMap<&ThreadId, Vec<&ThreadEntry>> = HashMap::new();
    for row in rows {
        if let Some(previous) = &row.lineage.previous {
            next.entry(previous).or_default().push(row);
        }
    }
    let mut first = *by_id.get(id)?;
    let mut way = HashSet::from([&first.thread_id]);
    while let Some(up) = first.lineage.previous.as_ref().and_then(|previous| by_id.get(previous)) {
        if !way.insert(&up.thread_id) {
            break;
        }
        first = up;
    }
    let (mut found, mut open, mut seen) = (Vec::new(), vec![first], HashSet::from([&first.thread_id]));
    while let Some(row) = open.pop() {
        found.push(row);
        open.extend(next.get(&row.thread_id).into_iter().flatten().filter(|row| seen.insert(&row.thread_id)));
    }
    found.sort_by_key(|row| (row.thread_id.begun(), &row.thread_id));
    // The one that is asked for is among them.
    if found.len() > MOST_THREADS
        && let Some(place) = found.iter().position(|row| row.thread_id == *id)
    {
        found.swap(place.min(MOST_THREADS - 1), place);
    }
    found.truncate(MOST_THREADS);
    Some(found)
}

fn branch(layout: &Layout, row: &ThreadEntry) -> Result<Branch, StoreError> {
    let mut said: Vec<Said> = Vec::new();
    let mut labels: HashMap<u64, Option<String>> = HashMap::new();
    let (mut copied, mut until) = (0, None);
    let own = layout.log(&row.thread_id)?;
    for page in log::pages(&own) {
        for line in page?.lines {
            let Some(record) = line.record else { continue };
            if let Event::Thread(ThreadEvent::ThreadForked { until: at, .. }) = &record.event {
                (copied, until) = (said.len(), Some(*at));
            } else if let Event::Thread(ThreadEvent::ExtensionEntry {
                entry: ExtensionEntry::Label { target, label },
            }) = &record.event
            {
                labels.extend(entry_at(target).map(|at| (at, label.clone())));
            } else if let Some((kind, text)) = heard(&record.event) {
                let (when, text) = (record.timestamp, in_one_line(&text));
                said.push(Said { at: line.offset, when, kind, text, label: None });
            }
        }
    }
    for one in &mut said {
        one.label = labels.remove(&one.at).flatten();
    }
    let Lineage { previous, origin, .. } = &row.lineage;
    let handed_off = *origin == ThreadOrigin::Handoff && until.is_none();
    let from = previous.clone().filter(|_| handed_off || until.is_some());
    let from = from.map(|thread| BranchedFrom { thread, until: until.unwrap_or(u64::MAX), handed_off });
    // The list of threads learns a moment later what a thread is called than its log has the prompt.
    let first = || said.iter().skip(copied).find(|said| said.kind == SaidKind::Prompt).map(|said| said.text.clone());
    let title = if row.title.is_empty() { first().unwrap_or_default() } else { row.title.clone() };
    Ok(Branch { thread: row.thread_id.clone(), title, from, copied, said })
}

/// What an event says, and how it begins.
fn heard(event: &Event) -> Option<(SaidKind, String)> {
    Some(match event {
        Event::Prompt(PromptEvent::CognitionIn { text, .. }) => (SaidKind::Prompt, text.clone()),
        Event::Request(RequestEvent::CognitionOut { text, .. }) if !text.trim().is_empty() => {
            (SaidKind::Answer, text.clone())
        }
        Event::Request(RequestEvent::CognitionOut { message, .. }) => {
            let tools: Vec<&str> = message.calls().map(|call| call.tool.as_str()).collect();
            (SaidKind::Calls, format!("calls {}", tools.join(", ")))
        }
        Event::Tool(ToolEvent::ToolCallResult { output, error, .. }) => {
            (SaidKind::Result, error.as_ref().map_or_else(|| output.clone(), |error| format!("failed: {error}")))
        }
        Event::Tool(ToolEvent::ShellStarted { command, .. }) => (SaidKind::Shell, format!("! {command}")),
        Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Message { message, .. } }) => {
            (SaidKind::Message, message.text.clone())
        }
        Event::Context(ContextEvent::ContextInherited { messages, .. }) => {
            (SaidKind::Inherited, messages.first().map(Message::text).unwrap_or_default())
        }
        Event::Context(ContextEvent::BranchSummarised { summary, .. }) if !summary.is_empty() => {
            (SaidKind::BranchSummary, summary.clone())
        }
        Event::Thread(_)
        | Event::Settings(_)
        | Event::Prompt(_)
        | Event::Request(_)
        | Event::Context(_)
        | Event::Tool(_)
        | Event::Approval(_)
        | Event::Control(_)
        | Event::Unknown { .. } => return None,
    })
}

fn in_one_line(text: &str) -> String {
    let words =
        text.split_whitespace().map(|word| word.chars().filter(|letter| !letter.is_control()).collect::<String>());
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
        if line.chars().count() > LONGEST_LINE {
            return line.chars().take(LONGEST_LINE).chain(['…']).collect();
        }
    }
    line
}

/// What was said in these parts of threads as one text for whoever summarises it, without what tools gave.
///
/// # Errors
/// [`StoreError`].
pub fn left(layout: &Layout, spans: &[Span]) -> Result<String, StoreError> {
    let mut entries = Vec::new();
    for Span { thread, from, until } in spans {
        'log: for page in log::pages(&layout.log(thread)?) {
            for line in page?.lines {
                if until.is_some_and(|until| line.offset >= until) {
                    break 'log;
                }
                let Some(record) = line.record.filter(|_| line.offset >= *from) else { continue };
                let message = match record.event {
                    Event::Prompt(PromptEvent::CognitionIn { text, .. }) => Message::user(text),
                    Event::Request(RequestEvent::CognitionOut { message, .. }) => message,
                    Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Message { message, .. } }) => {
                        Message::custom(message)
                    }
                    Event::Context(ContextEvent::BranchSummarised { summary, .. }) if !summary.is_empty() => {
                        Message::user(summary)
                    }
                    Event::Thread(_)
                    | Event::Settings(_)
                    | Event::Prompt(_)
                    | Event::Request(_)
                    | Event::Context(_)
                    | Event::Tool(_)
                    | Event::Approval(_)
                    | Event::Control(_)
                    | Event::Unknown { .. } => continue,
                };
                entries.push(Entry::new(message));
            }
        }
    }
    Ok(retell(&entries, LONGEST_LEFT).text)
}
