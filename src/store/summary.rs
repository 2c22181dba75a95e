//! `thread.json`: how a thread begins and stands.

use super::authentic::{self, LogKey};
use super::layout::{Layout, failed};
use super::log;
use super::registry::ThreadEntry;
use crate::domain::background::RunningCommands;
use crate::domain::{
    Ceiling, Cost, Event, LimitSources, Limits, Lineage, ModelRef, Outputs, Record, RequestEvent, SetLimits, Status,
    ThreadEvent, ThreadId, ThreadKind, Timestamp, Tokens, Values, Waiting,
};
use crate::ports::StoreError;
use crate::ports::executor::ThreadSpec;
use serde::{Deserialize, Serialize};

/// `thread.json`: how a thread stands, for people and programs that do not want to read its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub thread_id: ThreadId,
    pub directive: String,
    pub kind: ThreadKind,
    pub status: Status,
    /// What for, while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// The item of the call that waits to be allowed, or the limit that was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    pub model: ModelRef,
    #[serde(default)]
    pub title: String,
    /// Whether it is listed apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(default)]
    pub cost: Cost,
    /// How much it wrote lately.
    #[serde(default, skip_serializing_if = "Outputs::is_empty")]
    pub outputs: Outputs,
    /// What is risky of what its directive grants and does not acknowledge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// The commands that run beside its conversation, each by its name and in one line.
    #[serde(default, skip_serializing_if = "RunningCommands::is_empty")]
    pub commands: RunningCommands,
    /// Estimate of the next request without a prompt.
    #[serde(default)]
    pub context: Tokens,
    #[serde(default)]
    pub limits: Limits,
    /// Who set each of them when the thread was made.
    #[serde(default, skip_serializing_if = "LimitSources::is_empty")]
    pub limits_by: LimitSources,
    /// What the directive was told when the thread was made.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub inputs: Values,
    /// What the thread may do: each grant, below it the tools it reached in the newest request; a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    #[serde(default)]
    pub lineage: Lineage,
    /// What the threads above it could do when it was made, the nearest first: it may do nothing that one of them could
    /// not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Ceiling>,
}

/// The largest `thread.json` that is read, in bytes.
const LARGEST_SUMMARY: u64 = 4 << 20;

/// One that is read just for its title, in bytes.
const USUAL_SUMMARY: u64 = 64 << 10;

/// Makes a thread's summary of its whole log; `None` where that does not say how the thread began.
pub type Summarise = fn(&ThreadId, &[Record]) -> Option<Summary>;

/// How a thread begins: what has to be known before it can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Specification {
    pub directive: String,
    pub inputs: Values,
    pub lineage: Lineage,
    /// See [`Summary::ceilings`].
    pub ceilings: Vec<Ceiling>,
}

/// How the thread `id` begins, by its log, or by its `thread.json` where nothing has happened in it yet.
///
/// # Errors
/// [`StoreError::NoSuchThread`]; [`StoreError::Elsewhere`] where this person's program did not write that.
pub fn specification(layout: &Layout, id: &ThreadId) -> Result<Specification, StoreError> {
    let log = layout.log(id)?;
    if log.is_elsewhere() {
        return Err(StoreError::Elsewhere { id: id.to_string() });
    }
    for page in log::pages(&log) {
        for record in page?.into_records() {
            if let Event::Thread(ThreadEvent::ThreadStarted { directive, inputs, lineage, ceilings, .. }) = record.event
            {
                return Ok(Specification { directive, inputs, lineage, ceilings });
            }
        }
    }
    let Summary { directive, inputs, lineage, ceilings, .. } = Summary::read_own(layout, id)?;
    Ok(Specification { directive, inputs, lineage, ceilings })
}

impl Summary {
    /// How the thread `id` stands, as its `thread.json` says; made from the log by `summarise` where that is lost or
    /// broken. To show to people: nobody vouches for it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchThread`] where nothing tells of it, [`StoreError::Malformed`] where what there is does not read.
    pub fn look(layout: &Layout, id: &ThreadId, summarise: Summarise) -> Result<Self, StoreError> {
        let lost = match Self::read(layout, id) {
            Ok((summary, _)) => return Ok(summary),
            Err(error @ StoreError::Io { .. }) => return Err(error),
            Err(error) => error,
        };
        let mut records = Vec::new();
        for page in log::pages(&layout.log(id)?) {
            records.extend(page?.into_records());
        }
        summarise(id, &records).ok_or(lost)
    }

    /// How the thread `id` stands, as this person's program wrote it: in `thread.json`, or in the log, where that is lost or
    /// was changed.
    ///
    /// # Errors
    /// Why neither says it: [`StoreError::Elsewhere`], [`StoreError::NoSuchThread`].
    pub fn believed(layout: &Layout, id: &ThreadId, summarise: Summarise) -> Result<Self, StoreError> {
        let refused = match Self::read_own(layout, id) {
            Ok(summary) => return Ok(summary),
            Err(error) => error,
        };
        let log = layout.log(id)?;
        if log.is_elsewhere() {
            return Err(refused);
        }
        let mut records = Vec::new();
        for page in log::pages(&log) {
            records.extend(page?.into_records());
        }
        tracing::warn!(thread = %id, %refused, "its log counts");
        summarise(id, &records).ok_or(refused)
    }

    /// The title that `thread.json` has, if that reads and is of the usual size.
    pub(super) fn title(layout: &Layout, id: &ThreadId) -> Option<String> {
        #[derive(Deserialize)]
        struct Titled {
            title: String,
        }
        let bytes = layout.thread(id).summary().read(USUAL_SUMMARY).ok()??;
        let parted = authentic::part(&bytes);
        let object = parted.as_ref().map_or(bytes.as_slice(), |(object, _)| object);
        serde_json::from_slice::<Titled>(object).ok().map(|titled| titled.title)
    }

    /// As this person's program wrote it.
    pub(super) fn read_own(layout: &Layout, id: &ThreadId) -> Result<Self, StoreError> {
        match Self::read(layout, id)? {
            (summary, true) => Ok(summary),
            (_, false) => Err(StoreError::Elsewhere { id: id.to_string() }),
        }
    }

    /// What `thread.json` says, and whether this person's program wrote it.
    fn read(layout: &Layout, id: &ThreadId) -> Result<(Self, bool), StoreError> {
        let path = layout.thread(id).summary();
        let malformed = |detail: String| StoreError::Malformed { what: "a thread", path: path.path(), detail };
        let bytes = match path.read(LARGEST_SUMMARY) {
            Ok(bytes) => bytes.ok_or_else(|| StoreError::NoSuchThread { id: id.to_string() })?,
            // Something else lies under its name: what it would say is lost, and nothing else.
            Err(error) => return Err(malformed(error.to_string())),
        };
        let parted = authentic::part(&bytes);
        let fits = |key: &LogKey| parted.as_ref().is_some_and(|(object, code)| key.fits(id, WHOLE, (object, code)));
        let own = layout.key().is_some_and(fits);
        let object = parted.as_ref().map_or(bytes.as_slice(), |(object, _)| object);
        let summary: Self = serde_json::from_slice(object).map_err(|error| malformed(error.to_string()))?;
        if summary.thread_id != *id {
            return Err(malformed(format!("it belongs to the thread {}", summary.thread_id)));
        }
        Ok((summary, own))
    }

    /// Writes it, on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write(&self, layout: &Layout) -> Result<(), StoreError> {
        let path = layout.thread(&self.thread_id).summary();
        let mut json = serde_json::to_vec_pretty(self).unwrap_or_default();
        // A code begins behind the last value.
        if let Some(b"\n}") = json.last_chunk::<2>() {
            json.truncate(json.len() - 2);
            json.push(b'}');
        }
        layout.own_key()?.seal(&self.thread_id, WHOLE, &mut json);
        path.replace(&json).map_err(failed("write", &path))
    }

    /// What `thread.json` and the registry say of a thread that begins at `now` and has not run.
    #[must_use]
    pub fn new(id: ThreadId, directive: String, kind: ThreadKind, model: ModelRef, now: Timestamp) -> Self {
        Self {
            thread_id: id,
            directive,
            kind,
            status: Status::Created,
            waiting: None,
            waits_for: None,
            commands: RunningCommands::default(),
            model,
            title: String::new(),
            archived: false,
            created_at: now,
            updated_at: now,
            cost: Cost::default(),
            outputs: Outputs::default(),
            risk: None,
            context: Tokens(0),
            limits: Limits::default(),
            limits_by: LimitSources::default(),
            inputs: Values::new(),
            capabilities: Vec::new(),
            lineage: Lineage::default(),
            ceilings: Vec::new(),
        }
    }

    /// Takes in what an event says of it that the thread itself does not keep.
    pub fn hear(&mut self, event: &Event) {
        if let Event::Request(RequestEvent::CognitionOut { usage, .. }) = event {
            self.outputs.push(usage.output);
        } else if let Event::Thread(ThreadEvent::RiskNoted { risk }) = event {
            self.risk = Some(risk.clone());
        } else if let Event::Tool(event) = event {
            self.commands.hear(event);
        }
    }

    /// Its limits, and who set them.
    #[must_use]
    pub fn set_limits(&self) -> SetLimits {
        SetLimits { limits: self.limits, limits_by: self.limits_by }
    }

    /// Makes a new thread: the one way in which any begins. Nothing runs it yet.
    ///
    /// # Errors
    /// [`StoreError`]; of what was begun an empty folder may stay.
    pub fn make(layout: &Layout, spec: ThreadSpec, now: Timestamp) -> Result<Self, StoreError> {
        let thread_id = match &spec.id {
            Some(id) => layout.claim_as(id)?,
            None => layout.claim(&spec.directive, now)?,
        };
        let SetLimits { limits, limits_by } = spec.limits;
        let summary = Self {
            limits,
            limits_by,
            inputs: spec.inputs,
            lineage: spec.lineage,
            ceilings: spec.ceilings,
            ..Self::new(thread_id, spec.directive, spec.kind, spec.model, now)
        };
        summary.write(layout)?;
        Ok(summary)
    }

    /// The row of the registry that says the same.
    #[must_use]
    pub fn entry(&self, process: Option<(u32, String)>) -> ThreadEntry {
        let (pid, socket) = process.unzip();
        ThreadEntry {
            thread_id: self.thread_id.clone(),
            directive: self.directive.clone(),
            kind: self.kind,
            status: self.status,
            waiting: self.waiting,
            waits_for: self.waits_for.clone(),
            title: self.title.clone(),
            archived: self.archived,
            model: self.model.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            cost: self.cost,
            outputs: self.outputs,
            risk: self.risk.clone(),
            commands: self.commands.clone(),
            pid,
            socket,
            elsewhere: false,
            lineage: self.lineage.clone(),
            limits: self.limits,
        }
    }
}

/// The place under which `thread.json` is sealed: no line of a log begins there.
const WHOLE: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Grant;

    #[test]
    fn s05_before_there_is_a_log_what_a_child_may_do_is_believed_as_it_was_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let (project, state) = (folder.path().join("project"), folder.path().join("state"));
        std::fs::create_dir_all(&project).unwrap();
        let layout = Layout::new(&project, &state);
        let ceiling =
            Ceiling { thread: Some(ThreadId::new("above", 1)), grants: vec![Grant::new("rye.fetch.*", true)] };
        let spec = ThreadSpec {
            id: None,
            directive: "a".to_owned(),
            inputs: Values::new(),
            model: ModelRef::new("scripted", "demo"),
            kind: ThreadKind::OneShot,
            limits: SetLimits::default(),
            lineage: Lineage::default(),
            ceilings: vec![ceiling.clone()],
        };
        let id = Summary::make(&layout, spec, Timestamp(1)).unwrap().thread_id;
        assert_eq!(specification(&layout, &id).unwrap().ceilings, [ceiling]);
        let path = layout.thread(&id).summary().path();
        let written = std::fs::read_to_string(&path).unwrap();
        for (from, to) in [("rye.fetch.*", "rye.*"), ("\"ask\": true", "\"ask\": false"), ("\"mac\"", "\"mad\"")] {
            assert!(written.contains(from), "{from}: {written}");
            std::fs::write(&path, written.replace(from, to)).unwrap();
            let refused = specification(&layout, &id).unwrap_err();
            assert!(matches!(refused, StoreError::Elsewhere { .. }), "{refused}");
            assert!(refused.to_string().contains("or they were changed since"), "{refused}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(specification(&layout, &id).unwrap_err(), StoreError::NoSuchThread { .. }));
    }
}
