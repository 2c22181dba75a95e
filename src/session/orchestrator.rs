//! What is done with threads from outside of them: for the tools of a thread and for the command line, over all processes of
//! the project.

use crate::domain::command::PROGRAM_CLIENT;
use crate::domain::event::{CancelScope, PromptMode};
use crate::domain::{
    Command, LimitKind, Limits, Operation, SearchType, State, Status, ThreadId, ThreadKind, ThreadOrigin, ThreadResult,
    Waiting,
};
use crate::ports::{Clock, Executor, StoreError, SystemClock};
use crate::store::registry::Part;
use crate::store::summary::Summary;
use crate::store::{Layout, fork, log, outcome, recover, threads};
use crate::worker::detached::Detached;
use crate::worker::host::REPLAY;
use crate::worker::launch::Launcher;
use crate::worker::protocol::FromWorker;
use futures_util::future::join_all;
use regex::RegexBuilder;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long a wait lasts where neither settings nor whoever waits say.
pub(super) const WAIT: Duration = Duration::from_mins(10);

/// No wait lasts longer.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// A process that holds a thread and does not listen yet is looked for again after this time, for so long.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const LISTENS_WITHIN: Duration = Duration::from_secs(15);

/// As many threads are looked at for a chain or a list.
const MOST_THREADS: usize = 20_000;

/// As many results of a search are told, and as many letters of each.
const MOST_HITS: usize = 50;
const SNIPPET: usize = 500;

/// The largest part of a transcript that an answer holds, in bytes.
const LONGEST_TRANSCRIPT: usize = 50 << 10;

/// What is done with the threads of a project.
#[derive(Clone, Debug)]
pub struct Orchestrator {
    layout: Layout,
    pub(super) executor: Detached,
    /// How long a wait lasts where nobody says.
    wait: Duration,
}

impl Orchestrator {
    /// Of the project that `launcher` is of; a wait lasts for `wait` where nobody says.
    #[must_use]
    pub fn new(launcher: Launcher, wait: Duration) -> Self {
        Self { layout: launcher.layout.clone(), executor: Detached { launcher }, wait }
    }

    /// Does `operation`, and answers with a JSON object.
    ///
    /// # Errors
    /// Why not, in a sentence.
    pub async fn operate(&self, operation: Operation) -> Result<Value, String> {
        match operation {
            Operation::WaitThreads { thread_ids, timeout } => {
                let most = timeout.map_or(self.wait, Duration::from_secs).min(LONGEST_WAIT);
                Ok(self.wait_all(&thread_ids, most).await)
            }
            Operation::CancelThread { thread_id } => {
                let newest = self.newest(&thread_id).await;
                self.executor.cancel(&newest).await.map_err(|error| error.to_string())?;
                Ok(json!({ "success": true, "cancelled": newest }))
            }
            Operation::KillThread { thread_id } => {
                let newest = self.newest(&thread_id).await;
                self.executor.kill(&newest).await.map_err(|error| error.to_string())?;
                Ok(json!({ "success": true, "killed": newest }))
            }
            Operation::GetStatus { thread_id } => {
                let result = self.result(&thread_id).await?;
                Ok(told(&result, self.executor.status(&thread_id).await.as_ref()))
            }
            Operation::ListActive {} => self.active().await,
            Operation::AggregateResults { thread_ids } => {
                let results = join_all(thread_ids.iter().map(|id| self.result(id))).await;
                Ok(json!({ "success": true, "results": by_id(&thread_ids, results) }))
            }
            Operation::GetChain { thread_id } => {
                let chain = self.chain(&thread_id).await?;
                let results = join_all(chain.iter().map(|id| self.result(id))).await;
                let links: Vec<Value> = results.into_iter().flatten().map(|result| {
                    json!({ "thread_id": result.thread_id, "status": result.status, "directive": result.directive })
                }).collect();
                Ok(json!({ "success": true, "chain_length": chain.len(), "chain": links }))
            }
            Operation::ChainSearch { thread_id, query, search_type, max_results } => {
                self.search(&thread_id, &query, search_type, max_results.unwrap_or(MOST_HITS)).await
            }
            Operation::HandoffThread { thread_id } => {
                let newest = self.newest(&thread_id).await;
                self.executor.tell(&newest, Command::HandOff).await.map_err(|error| error.to_string())?;
                Ok(json!({ "success": true, "handed_off": newest }))
            }
            Operation::ResumeThread { thread_id, message } => {
                let chain = self.chain(&thread_id).await?;
                self.resume(chain.last().unwrap_or(&thread_id), message).await
            }
            Operation::ReadTranscript { thread_id, tail_lines } => self.transcript(&thread_id, tail_lines).await,
        }
    }

    /// Work on files, off the loop.
    pub(super) async fn off_loop<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Layout) -> T + Send + 'static,
    ) -> Result<T, String> {
        let layout = self.layout.clone();
        tokio::task::spawn_blocking(move || work(&layout)).await.map_err(|error| error.to_string())
    }

    /// What came of a thread so far.
    ///
    /// # Errors
    /// Why nothing is known of it.
    pub async fn result(&self, id: &ThreadId) -> Result<ThreadResult, String> {
        let thread = id.clone();
        let read = move |layout: &Layout| {
            let result = outcome::of(layout, &thread, REPLAY.summary)?;
            let waits = || {
                let summary = Summary::look(layout, &thread, REPLAY.summary);
                summary.is_ok_and(|summary| summary.waiting == Some(Waiting::User))
            };
            let works = matches!(result.status, Status::Running | Status::Queued);
            // What is said beside the log is a moment old where a process was killed.
            let has_begun =
                || layout.log(&thread).is_ok_and(|log| log::pages(&log).next().is_some_and(|page| page.is_ok()));
            let begins = result.status == Status::Created && has_begun();
            let at_work = works || (result.status == Status::Waiting && !waits()) || begins;
            if !at_work || recover::is_held(layout, &thread)? {
                return Ok(result);
            }
            // Its process may have died, and nobody has listed the threads since.
            match threads::Threads::look(layout, SystemClock.now(), REPLAY) {
                Ok(_looked) => outcome::of(layout, &thread, REPLAY.summary),
                Err(_as_it_was) => Ok(result),
            }
        };
        self.off_loop(read).await?.map_err(|error: StoreError| error.to_string())
    }

    /// Waits until the thread has ended or waits for a person who lets it go on; of one that went on in another thread, for
    /// that one. Nothing is asked again and again: whoever runs the thread says when it ends.
    ///
    /// # Errors
    /// Why nothing is known of it.
    pub async fn wait(&self, id: &ThreadId) -> Result<ThreadResult, String> {
        let mut id = id.clone();
        let mut follows = false;
        loop {
            self.wait_for_end(&id).await?;
            let mut result = self.result(&id).await?;
            // A thread that goes on with another begins once that has ended.
            let since = Instant::now();
            while follows && result.status == Status::Created && since.elapsed() < LISTENS_WITHIN {
                sleep(LOOK_EVERY).await;
                self.wait_for_end(&id).await?;
                result = self.result(&id).await?;
            }
            match result.continuation_thread_id.take() {
                Some(next) if result.status == Status::Continued => (id, follows) = (next, true),
                Some(_) | None => return Ok(result),
            }
        }
    }

    /// The thread that goes on with what `id` was doing; `id` itself where none does.
    async fn newest(&self, id: &ThreadId) -> ThreadId {
        let mut newest = id.clone();
        while let Ok(ThreadResult { status: Status::Continued, continuation_thread_id: Some(next), .. }) =
            self.result(&newest).await
        {
            newest = next;
        }
        newest
    }

    /// Waits until no process works on the thread any more.
    async fn wait_for_end(&self, id: &ThreadId) -> Result<(), String> {
        let mut since = Instant::now();
        loop {
            match self.executor.launcher.find(id, u64::MAX).await {
                Ok(mut client) => loop {
                    match client.next().await {
                        Some(FromWorker::State(state)) if is_over(&state) => return Ok(()),
                        Some(FromWorker::Bye { .. }) | None => {
                            since = Instant::now();
                            break;
                        }
                        Some(_) => {}
                    }
                },
                Err(_not_there) => {
                    let thread = id.clone();
                    let held = self.off_loop(move |layout| recover::is_held(layout, &thread)).await?;
                    if !held.map_err(|error| error.to_string())? {
                        return Ok(());
                    }
                    if since.elapsed() > LISTENS_WITHIN {
                        return Err(format!("a process holds the thread {id} and does not answer"));
                    }
                    // It begins, or lets go of the thread just now.
                    sleep(LOOK_EVERY).await;
                }
            }
        }
    }

    async fn wait_all(&self, ids: &[ThreadId], most: Duration) -> Value {
        let each = ids.iter().map(|id| async move {
            match timeout(most, self.wait(id)).await {
                Ok(result) => result,
                Err(_elapsed) => Err(format!("still running after {} s", most.as_secs())),
            }
        });
        let results = join_all(each).await;
        let success = results.iter().all(|result| result.as_ref().is_ok_and(|result| result.success));
        json!({ "success": success, "results": by_id(ids, results) })
    }

    /// The threads that run.
    async fn active(&self) -> Result<Value, String> {
        let look = |layout: &Layout| threads::Threads::look(layout, SystemClock.now(), REPLAY)?.running();
        let rows = self.off_loop(look).await?.map_err(|error| error.to_string())?;
        let active: Vec<Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "thread_id": row.thread_id,
                    "directive": row.directive,
                    "status": row.status,
                    "waiting": row.waiting.map(Waiting::word),
                    "parent_id": row.lineage.parent,
                    "turns": row.cost.turns,
                    "spend": row.cost.spend.dollars(),
                })
            })
            .collect();
        Ok(json!({ "success": true, "count": active.len(), "active_threads": active }))
    }

    /// The threads of the conversation that `id` is of, the first first. Where several went on with one, the newest of them
    /// counts, but for the way to `id` itself.
    async fn chain(&self, id: &ThreadId) -> Result<Vec<ThreadId>, String> {
        let (thread, named) = (id.clone(), id.clone());
        let look = move |layout: &Layout| {
            // Of one that is not there, why.
            Summary::look(layout, &thread, REPLAY.summary)?;
            threads::Threads::look(layout, SystemClock.now(), REPLAY)?.list(Part::All, MOST_THREADS)
        };
        let rows = self.off_loop(look).await?.map_err(|error: StoreError| error.to_string())?;
        let goes_on = || rows.iter().filter(|row| row.lineage.origin == ThreadOrigin::Handoff);
        let before = |id: &ThreadId| goes_on().find(|row| row.thread_id == *id)?.lineage.previous.clone();
        let after = |id: &ThreadId| {
            let successors = goes_on().filter(|row| row.lineage.previous.as_ref() == Some(id));
            successors.max_by_key(|row| row.created_at).map(|row| row.thread_id.clone())
        };
        let mut chain = VecDeque::from([named]);
        while let Some(previous) = chain.front().and_then(before).filter(|previous| !chain.contains(previous)) {
            chain.push_front(previous);
        }
        while let Some(next) = chain.back().and_then(after).filter(|next| !chain.contains(next)) {
            chain.push_back(next);
        }
        Ok(chain.into())
    }

    async fn search(&self, id: &ThreadId, query: &str, kind: SearchType, most: usize) -> Result<Value, String> {
        let pattern = match kind {
            SearchType::Text => regex::escape(query),
            SearchType::Regex => query.to_owned(),
        };
        let insensitive = kind == SearchType::Text;
        let pattern = RegexBuilder::new(&pattern)
            .case_insensitive(insensitive)
            .build()
            .map_err(|error| format!("`{query}` is no regular expression: {error}"))?;
        let chain = self.chain(id).await?;
        let searched = chain.clone();
        let find = move |layout: &Layout| {
            let mut hits = Vec::new();
            for thread in &searched {
                outcome::said(layout, thread, |said| {
                    if let Some(hit) = pattern.find(&said.text) {
                        let from = said.text.floor_char_boundary(hit.start().saturating_sub(SNIPPET / 4));
                        let to = said.text.floor_char_boundary((from + SNIPPET).min(said.text.len()));
                        hits.push(json!({
                            "thread_id": thread,
                            "event_type": said.event_type,
                            "line_no": said.line,
                            "snippet": said.text.get(from..to),
                            "matches": pattern.find_iter(&said.text).take(5).map(|hit| hit.as_str()).collect::<Vec<_>>(),
                        }));
                    }
                    if hits.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
            }
            Ok::<_, StoreError>(hits)
        };
        let mut hits = self.off_loop(find).await?.map_err(|error| error.to_string())?;
        let truncated = hits.len() > most;
        hits.truncate(most);
        Ok(json!({
            "success": true,
            "chain_length": chain.len(),
            "chain_threads": chain,
            "results": hits,
            "truncated": truncated,
        }))
    }

    /// Has a new thread go on with what was said in `id`, in a process of its own. One that only waits for a message gets it
    /// itself.
    async fn resume(&self, id: &ThreadId, message: String) -> Result<Value, String> {
        if message.trim().is_empty() {
            return Err("there is nothing to say to it: give a message".to_owned());
        }
        let thread = id.clone();
        let look = move |layout: &Layout| {
            let held = recover::is_held(layout, &thread)?;
            Ok::<_, StoreError>((held, Summary::look(layout, &thread, REPLAY.summary)?))
        };
        let (held, summary) = self.off_loop(look).await?.map_err(|error| error.to_string())?;
        // One that was to go on with another and never began begins now.
        let waits = matches!(summary.status, Status::Suspended | Status::Created);
        let goes_on = (summary.kind == ThreadKind::Interactive || waits) && summary.status != Status::Continued;
        if held && !goes_on {
            return Err(format!("{id} still runs; cancel it first, or wait for it"));
        }
        let next = if goes_on {
            id.clone()
        } else {
            let from = id.clone();
            let make = move |layout: &Layout| fork::successor(layout, &from, REPLAY.summary, SystemClock.now());
            self.off_loop(make).await?.map_err(|error| error.to_string())?
        };
        let first = Command::Submit {
            text: message,
            mode: PromptMode::FollowUp,
            images: Vec::new(),
            files: Vec::new(),
            client: Some(format!("{PROGRAM_CLIENT}{}", SystemClock.now().0)),
        };
        if let Err(error) = self.executor.begin(&next, first).await {
            if next != *id {
                // Of a thread that could not begin nothing is left to go on with.
                let _gone = self.executor.remove(&next).await;
            }
            return Err(error.to_string());
        }
        Ok(json!({
            "success": true,
            "resumed": true,
            "old_thread_id": id,
            "new_thread_id": next,
            "directive": summary.directive,
            "status": "running",
        }))
    }

    /// Asks something of the process that runs a thread.
    ///
    /// # Errors
    /// Why it is not done, in a sentence; also where no process runs it.
    pub async fn ask(&self, id: &ThreadId, command: Command) -> Result<(), String> {
        self.executor.begin(id, command).await.map(drop).map_err(|error| error.to_string())
    }

    /// Tells the process that runs a thread something; none is started for it.
    ///
    /// # Errors
    /// Why it is not done, in a sentence; also where no process runs it.
    pub async fn tell(&self, id: &ThreadId, command: Command) -> Result<(), String> {
        self.executor.tell(id, command).await.map_err(|error| error.to_string())
    }

    /// Lets a thread that is suspended at a limit go on under `limits`, where they say nothing with as much again of the one
    /// that was reached; without limits it is ended as cancelled.
    ///
    /// # Errors
    /// Why not, in a sentence.
    pub async fn approve(&self, id: &ThreadId, limits: Option<Limits>) -> Result<Value, String> {
        let thread = id.clone();
        // What it may use from here on is made of these limits, so that they are no stranger's.
        let look = move |layout: &Layout| Summary::believed(layout, &thread, REPLAY.summary);
        let summary = self.off_loop(look).await?.map_err(|error| error.to_string())?;
        if summary.status != Status::Suspended {
            return Err(format!("{id} is {}, not suspended: there is nothing to approve", summary.status));
        }
        let command = match limits {
            None => Command::Cancel { scope: CancelScope::Thread },
            Some(named) => {
                // The ledger may have been in the way, where the thread's own sum is below its limit.
                let told =
                    || LimitKind::ALL.into_iter().find(|kind| summary.waits_for.as_deref() == Some(kind.thing()));
                let reached = summary.limits.reached(&summary.cost).map(|(kind, ..)| kind).or_else(told);
                let limits = match reached.filter(|_| named == Limits::default()) {
                    Some(kind) => summary.limits.raised(kind, &summary.cost),
                    None => summary.limits.overridden(named),
                };
                if let Some((code, current, maximum)) = limits.reached(&summary.cost) {
                    let thing = code.thing();
                    return Err(format!("{current} {thing} are used already: {maximum} would not let it go on"));
                }
                if limits == summary.limits {
                    return Err(format!("{id} is not at a limit; `levain threads resume {id} MESSAGE` continues it"));
                }
                Command::SetLimits { limits }
            }
        };
        self.executor.begin(id, command).await.map_err(|error| error.to_string())?;
        Ok(json!({ "success": true, "thread_id": id, "approved": limits.is_some() }))
    }

    async fn transcript(&self, id: &ThreadId, tail: Option<usize>) -> Result<Value, String> {
        let thread = id.clone();
        let read = move |layout: &Layout| {
            let mut text = String::new();
            outcome::said(layout, &thread, |said| {
                text.extend(["## ", said.event_type, "\n\n", said.text.trim_end(), "\n\n"]);
                ControlFlow::Continue(())
            })?;
            Ok::<_, StoreError>(text)
        };
        let text = self.off_loop(read).await?.map_err(|error| error.to_string())?;
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let from = tail.map_or(0, |tail| lines.len().saturating_sub(tail));
        let content = lines.get(from..).unwrap_or_default().join("\n");
        // The end is what is asked for most.
        let cut = content.ceil_char_boundary(content.len().saturating_sub(LONGEST_TRANSCRIPT));
        let (content, truncated) = (content.get(cut..).unwrap_or_default(), cut > 0);
        Ok(json!({ "success": true, "thread_id": id, "content": content, "truncated": truncated }))
    }
}

/// Whether nothing more comes of a thread unless somebody says so.
fn is_over(state: &State) -> bool {
    let rests = state.kind == ThreadKind::Interactive && state.waiting == Some(Waiting::User);
    let asks = state.waiting == Some(Waiting::Approval);
    state.status.is_terminal() || state.status == Status::Suspended || rests || asks
}

/// A result, with what a live thread waits for.
fn told(result: &ThreadResult, state: Option<&State>) -> Value {
    let mut value = serde_json::to_value(result).unwrap_or_default();
    if let (Some(fields), Some(state)) = (value.as_object_mut(), state) {
        fields.insert("status".to_owned(), json!(state.status));
        fields.insert("waiting".to_owned(), json!(state.waiting.map(Waiting::word)));
        fields.insert("success".to_owned(), json!(true));
    }
    value
}

fn by_id(ids: &[ThreadId], results: Vec<Result<ThreadResult, String>>) -> Value {
    let entry = |(id, result): (&ThreadId, Result<ThreadResult, String>)| {
        let value = match result {
            Ok(result) => serde_json::to_value(result).unwrap_or_default(),
            Err(error) => json!({ "success": false, "thread_id": id, "error": error }),
        };
        (id.to_string(), value)
    };
    ids.iter().zip(results).map(entry).collect::<serde_json::Map<String, Value>>().into()
}
