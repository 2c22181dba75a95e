//! A process that runs a thread: store, engine and server put together.
//!
//! `levain worker` is little more than [`host`]; `levain run` hosts its thread in its own process the same way, so that
//! it can be watched from elsewhere too.

use super::client::Client;
use super::code_pages;
use super::presence::Presence;
use super::server::Hub;
use super::socket;
use crate::domain::event::EndReason;
use crate::domain::{
    Event, LimitSource, Limits, Permissions, Rules, SetLimits, SettingsEvent, State, Status, ThreadEvent, ThreadId,
    ThreadKind, Waiting,
};
use crate::engine::answer::Answer;
use crate::engine::driver::{Budgets, Driver, Ended, Handle, ModelRegistry, Planner, Settings};
use crate::engine::thread::{Thread, apply};
use crate::ports::{Approvals, Clock, Handlers, StoreError, ToolRunner};
use crate::store::recover::{self, Replay};
use crate::store::summary::{Summarise, Summary};
use crate::store::thread::Opened;
use crate::store::{FileStore, Layout, Summaries, processes};
use secrecy::SecretString;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

/// What a host needs to know.
pub struct Hosting {
    pub layout: Layout,
    pub thread_id: ThreadId,
    /// The folder for sockets.
    pub runtime: PathBuf,
    pub models: Box<dyn ModelRegistry>,
    pub tools: Arc<dyn ToolRunner>,
    /// What the directive of a thread that begins here limits; whoever made the thread may have said otherwise.
    pub limits: Limits,
    /// What the thread may do.
    pub permissions: Permissions,
    pub approvals: Box<dyn Approvals>,
    /// What the thread does about failures and a full window; `None` keeps what it has.
    pub rules: Option<Rules>,
    pub clock: Arc<dyn Clock>,
    /// What surrounds the thread's conversation.
    pub planner: Arc<dyn Planner>,
    /// What is risky of what its directive grants and does not acknowledge, which a person should know before a thread that
    /// begins does anything.
    pub risk: Option<String>,
    /// Who is asked before something is spent; nobody without.
    pub budgets: Option<Budgets>,
    /// Who is asked at the stages of the pipeline.
    pub handlers: Arc<dyn Handlers>,
    /// How long an idle interactive thread is kept after the last client said goodbye.
    pub idle: Duration,
    /// The same after the last client vanished without a word.
    pub orphaned: Duration,
    /// The same where the thread waits for a person's word on a call: the question stands when it is opened again.
    pub unanswered: Duration,
    /// What a client has to say to approve calls; without it nobody may over the socket.
    pub secret: Option<SecretString>,
}

/// Why a thread could not be hosted.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("another process runs this thread")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("could not listen at {}: {source}", path.display())]
    Listen { path: PathBuf, source: std::io::Error },
    /// What belongs to it could not be put together.
    #[error("{0}")]
    Unmade(String),
    #[error("a task of the worker failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// A thread being run by this process.
#[derive(Debug)]
pub struct Hosted {
    hub: Hub,
    handle: Handle,
    socket: PathBuf,
    /// What is at `socket`, to be told from what another process puts there.
    identity: Option<FileIdentity>,
    driver: JoinHandle<Ended>,
    tasks: Vec<JoinHandle<()>>,
}

/// What the engine makes of what the store keeps.
pub const REPLAY: Replay = Replay {
    answer: |deltas| {
        let answer = Answer::from_deltas(deltas);
        (answer.text(), answer.thinking(), answer.message())
    },
    summary: SUMMARISE,
};

/// How a thread stands after everything in its log.
const SUMMARISE: Summarise = |id, records| {
    let (directive, kind, model, set, inputs, lineage, ceilings) = records.iter().find_map(|record| {
        let Event::Thread(ThreadEvent::ThreadStarted {
            directive,
            kind,
            model,
            limits,
            limits_by,
            inputs,
            lineage,
            ceilings,
            ..
        }) = &record.event
        else {
            return None;
        };
        let set = SetLimits { limits: *limits, limits_by: *limits_by };
        let (inputs, lineage, ceilings) = (inputs.clone(), lineage.clone(), ceilings.clone());
        Some((directive.clone(), *kind, model.clone(), set, inputs, lineage, ceilings))
    })?;
    let mut thread = Thread::new(id.clone(), &directive, kind, model.clone(), set.limits);
    for record in records {
        let _done_already = apply(&mut thread, record);
    }
    let created_at = records.first()?.timestamp;
    let mut summary = Summary {
        status: thread.status(),
        waiting: thread.waiting(),
        waits_for: thread.waits_for(),
        context: thread.context(),
        title: thread.title().unwrap_or_default(),
        model: thread.model,
        archived: thread.filing.archived,
        updated_at: records.iter().rev().find(|record| !record.event.is_upkeep())?.timestamp,
        cost: thread.cost,
        limits: thread.limits,
        limits_by: set.limits_by,
        inputs,
        lineage,
        ceilings,
        ..Summary::new(id.clone(), directive, kind, model, created_at)
    };
    for record in records {
        summary.hear(&record.event);
    }
    Some(summary)
};

/// Where the socket of a thread lies.
#[must_use]
pub fn socket_path(runtime: &Path, layout: &Layout, id: &ThreadId) -> PathBuf {
    socket::path(runtime, layout.project(), id)
}

/// Opens the thread, mends what a dead process left, listens, and starts working.
///
/// # Errors
/// [`HostError::Busy`] when another process runs the thread.
pub async fn host(hosting: Hosting, summaries: &Summaries) -> Result<Hosted, HostError> {
    let Hosting { layout, thread_id, runtime, .. } = &hosting;
    let path = socket_path(runtime, layout, thread_id);
    let process = Some((std::process::id(), path.display().to_string()));
    let opened = {
        let (layout, id, summaries) = (layout.clone(), thread_id.clone(), summaries.clone());
        tokio::task::spawn_blocking(move || FileStore::open(&layout, &id, process, SUMMARISE, &summaries)).await??
    };
    let opened = opened.ok_or(HostError::Busy)?;
    let listener = listen(&path).map_err(|source| HostError::Listen { path: path.clone(), source })?;

    processes::end_left_behind(layout, thread_id);
    let mut opening = opening(&opened, layout, hosting.limits);
    if opened.records.is_empty() {
        let noted = |risk| Event::Thread(ThreadEvent::RiskNoted { risk });
        opening.extend(hosting.risk.clone().map(noted));
    }
    let Opened { store, summary, records, .. } = opened;
    let mut thread =
        Thread::new(thread_id.clone(), &summary.directive, summary.kind, summary.model.clone(), summary.limits);
    for record in &records {
        let _carried_out_then = apply(&mut thread, record);
    }
    drop(records);
    opening.extend(permitted(&thread.permissions, hosting.permissions.clone()));
    let rules = hosting.rules.clone().map(|rules| Rules {
        asks: hosting.planner.asks(),
        outputs: hosting.planner.outputs(),
        ..rules
    });
    opening.extend(
        rules.filter(|rules| *thread.rules != *rules).map(|rules| Event::Settings(SettingsEvent::RulesSet { rules })),
    );

    let most_clients = hosting.models.bounds().clients;
    let hub = Hub::new(thread_id.clone(), layout.log(thread_id)?, store.log_end(), hosting.secret, most_clients);
    let settings = Settings {
        store: Box::new(store),
        models: hosting.models,
        tools: hosting.tools,
        approvals: hosting.approvals,
        clock: hosting.clock,
        audience: hub.clone(),
        planner: hosting.planner,
        budgets: hosting.budgets,
        handlers: hosting.handlers,
    };
    let kind = thread.kind;
    let handlers = Arc::clone(&settings.handlers);
    let (driver, handle) = Driver::new(thread, settings);
    handlers.join(handle.access());
    let local = tokio::spawn(driver.run(opening));
    let mut tasks = vec![tokio::spawn(hub.clone().listen(listener, handle.clone()))];
    tasks.push(tokio::spawn(code_pages::release_at_rest(hub.state())));
    if kind == ThreadKind::Interactive {
        let patience = Patience { idle: hosting.idle, orphaned: hosting.orphaned, unanswered: hosting.unanswered };
        tasks.push(tokio::spawn(end_when_idle(hub.clone(), handle.clone(), patience)));
    }
    let identity = identity(&path);
    Ok(Hosted { hub, handle, socket: path, identity, driver: local, tasks })
}

impl Hosted {
    /// Where clients connect.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// A client in this process.
    #[must_use]
    pub fn client(&self) -> Client {
        self.hub.connect(self.handle.clone())
    }

    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    pub(super) fn hub(&self) -> Hub {
        self.hub.clone()
    }

    /// Waits until the thread ends or is let go. Clients are still connected then.
    ///
    /// # Errors
    /// [`HostError::Task`] when the driver panicked.
    pub(super) async fn over(&mut self) -> Result<Ended, HostError> {
        Ok((&mut self.driver).await?)
    }

    /// Says goodbye to clients and removes the socket.
    pub(super) async fn close(self, ended: &Result<Ended, HostError>) {
        let reason = match ended {
            Ok(Ended::Thread(status)) => format!("the thread is {status}"),
            Ok(Ended::HandedOff(next)) => format!("the thread continues in {next}"),
            Ok(Ended::Asked) => "the worker was asked to end".to_owned(),
            Err(_) => "the worker failed".to_owned(),
        };
        self.hub.bye(&reason).await;
        // While somebody was slow to hear it, the thread may have been opened again: then the socket there is another's. Ours keeps
        // its number for as long as it is listened to.
        if identity(&self.socket) == self.identity {
            let _gone_already = std::fs::remove_file(&self.socket);
        }
        for task in self.tasks {
            task.abort();
        }
    }

    /// Waits until the thread ends or is let go, says goodbye and removes the socket.
    ///
    /// # Errors
    /// As [`Self::over`].
    pub async fn finished(mut self) -> Result<Ended, HostError> {
        let ended = self.over().await;
        self.close(&ended).await;
        ended
    }
}

/// The events with which this process takes the thread over.
fn opening(opened: &Opened, layout: &Layout, limits: Limits) -> Vec<Event> {
    let mut events = Vec::new();
    if opened.records.is_empty() {
        let summary = &opened.summary;
        let set = SetLimits::by(LimitSource::Defaults, Limits::TREE)
            .overridden(SetLimits::by(LimitSource::Directive, limits))
            .overridden(summary.set_limits());
        events.push(Event::Thread(ThreadEvent::ThreadStarted {
            directive: summary.directive.clone(),
            kind: summary.kind,
            model: summary.model.clone(),
            limits: set.limits,
            limits_by: set.limits_by,
            project: layout.project().display().to_string(),
            inputs: summary.inputs.clone(),
            lineage: summary.lineage.clone(),
            ceilings: summary.ceilings.clone(),
        }));
    }
    events.extend(recover::epilogue(opened, REPLAY.answer));
    if opened.passed_over > 0 {
        let lines = if opened.passed_over == 1 { "1 line".to_owned() } else { format!("{} lines", opened.passed_over) };
        let text = format!("ignored {lines} of this thread's log: broken or not written by this program");
        events.push(Event::Thread(ThreadEvent::Notice { text }));
    }
    events.push(Event::Thread(ThreadEvent::WorkerStarted {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }));
    events
}

/// Says what the thread may do from here on, where that is something else than before. What was allowed in this thread
/// stays allowed.
fn permitted(before: &Permissions, now: Permissions) -> Option<Event> {
    let Permissions { grants, mut allowed, confines, .. } = now;
    if before.grants == grants
        && before.confines == confines
        && allowed.iter().all(|pattern| before.allowed.contains(pattern))
    {
        return None;
    }
    let kept = before.allowed.iter().filter(|pattern| !allowed.contains(pattern)).cloned();
    let kept: Vec<String> = kept.collect();
    allowed.extend(kept);
    Some(Event::Settings(SettingsEvent::PermissionsSet { grants, allowed, confines }))
}

/// Device, number, and when it was changed last.
type FileIdentity = (u64, u64, i64, i64);

/// What tells one file at a path from the next.
fn identity(path: &Path) -> Option<FileIdentity> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec()))
}

/// Listens at `path`, where a dead worker may have left its socket: the thread's lock is held, so nobody else listens.
fn listen(path: &Path) -> std::io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// How long a worker without clients is kept.
#[derive(Clone, Copy, Debug)]
struct Patience {
    idle: Duration,
    orphaned: Duration,
    unanswered: Duration,
}

/// Ends the worker once nothing is to be done and nobody looks.
async fn end_when_idle(hub: Hub, handle: Handle, patience: Patience) {
    let (mut presence, mut state) = (hub.presence(), hub.state());
    loop {
        let present: Presence = *presence.borrow_and_update();
        let (rests, asks) = state
            .borrow_and_update()
            .as_ref()
            .map_or((false, false), |state| (is_at_rest(state), state.waiting == Some(Waiting::Approval)));
        let wait = match present.orderly {
            _ if asks => patience.unanswered,
            true => patience.idle,
            false => patience.orphaned,
        };
        tokio::select! {
            changed = presence.changed() => if changed.is_err() { return },
            changed = state.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(wait), if (rests || asks) && present.clients == 0 => {
                if hub.end_alone() {
                    handle.leave(EndReason::Idle).await;
                    return;
                }
            }
        }
    }
}

fn is_at_rest(state: &State) -> bool {
    // What waits in the queue then waits for a person too.
    state.waiting == Some(Waiting::User) || state.status.is_terminal() || state.status == Status::Created
}

impl std::fmt::Debug for Hosting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Hosting").field("thread_id", &self.thread_id).finish_non_exhaustive()
    }
}
