//! The handlers that extensions register, as those of a thread.

use super::extensions::{Extension, Extensions};
use super::stamp::{Stamp, stamp};
use crate::config::Trust;
use crate::domain::{HandlerPlace, Stage};
use crate::extensions::{Answer, Engine, Limits, Problem, Registration, Told};
use crate::ports::handlers::{DEADLINE, Handler, HandlerCall, HandlerReply};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// The same for a thread's handlers as for a file that is loaded: nobody waits longer for either.
const LIMITS: Limits = Limits { memory: 256 << 20, slice: std::time::Duration::from_secs(5), call: DEADLINE };

/// Lines of what a handler wrote that are kept with its step.
const MOST_LINES: usize = 50;

/// See the module.
pub(super) struct ExtensionHandlers {
    extensions: Extensions,
    loaded: RwLock<Arc<Loaded>>,
    /// Held while they are loaded.
    loading: Mutex<()>,
}

/// What was loaded, and from what.
#[derive(Default)]
struct Loaded {
    /// Every file that was found, and how it was; the person's decision on the project's among them.
    files: Vec<(PathBuf, Stamp)>,
    /// None where there is no extension.
    engine: Option<Arc<Engine>>,
    /// In the order in which they are asked.
    handlers: Vec<(Handler, Registration)>,
    /// The files that are in the engine.
    paths: Vec<PathBuf>,
}

impl ExtensionHandlers {
    pub(super) fn new(extensions: Extensions) -> Self {
        Self { extensions, loaded: RwLock::default(), loading: Mutex::default() }
    }

    fn loaded(&self) -> Arc<Loaded> {
        Arc::clone(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn at(&self, stage: Stage) -> Vec<Handler> {
        let loaded = self.loaded();
        let of_stage = loaded.handlers.iter().filter(|(handler, _)| handler.stage == stage);
        of_stage.map(|(handler, _)| handler.clone()).collect()
    }

    /// Loads what is new or was saved since. Answers with what people should know.
    pub(super) async fn ready(&self) -> Vec<String> {
        let _one_at_a_time = self.loading.lock().await;
        let before = self.loaded();
        let found = self.extensions.found();
        let mut files: Vec<_> = found.iter().map(|one| (one.path.clone(), stamp(&one.path))).collect();
        if found.iter().any(|one| one.of_project) {
            let decision = Trust::record(&self.extensions.dirs, &self.extensions.root);
            files.push((decision.clone(), stamp(&decision)));
        }
        if files == before.files {
            return Vec::new();
        }
        let (loaded, told) = self.load(found, files, &before).await;
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        told
    }

    async fn load(
        &self,
        found: Vec<Extension>,
        files: Vec<(PathBuf, Stamp)>,
        before: &Arc<Loaded>,
    ) -> (Loaded, Vec<String>) {
        let mut told = Vec::new();
        let (may_run, of_project) = self.allowed(found).await;
        if !of_project.is_empty() {
            let names: Vec<_> = of_project.iter().map(|one| one.name.as_str()).collect();
            told.push(format!(
                "extensions of this project are not loaded, as you have not trusted it as it is now (levain trust): {}",
                names.join(", ")
            ));
        }
        let is_lost = |paths: &[PathBuf]| {
            let still_there = before.paths.iter().filter(|path| files.iter().any(|(file, _)| file == *path));
            still_there.filter(|path| !paths.contains(path)).count() > 0
        };
        let kept = |files| {
            let Loaded { engine, handlers, paths, .. } = &**before;
            Loaded { files, engine: engine.clone(), handlers: handlers.clone(), paths: paths.clone() }
        };
        let mut loaded = Loaded::default();
        if !may_run.is_empty() {
            let extensions = self.extensions.clone();
            let started = tokio::task::spawn_blocking(move || extensions.engine(LIMITS)).await;
            match started.map_err(|failed| failed.to_string()).and_then(|engine| engine.map_err(|e| e.to_string())) {
                Ok(engine) => {
                    let engine = Arc::new(engine);
                    self.fill(&mut loaded, &engine, &may_run, &mut told).await;
                    loaded.engine = Some(engine);
                }
                Err(error) => told.push(format!("no extension is loaded: {error}")),
            }
        }
        if is_lost(&loaded.paths) {
            // Half of a change never counts, and a guard that no longer loads would be one that is gone.
            told.push("the extensions that were loaded before stay as they were".to_owned());
            return (kept(files), told);
        }
        loaded.files = files;
        let reason = json!({"type": "session_shutdown", "reason": "reload"});
        self.tell(before, Stage::SessionShutdown, &reason).await;
        if before.engine.is_some() {
            self.tell(&loaded, Stage::SessionStart, &json!({"type": "session_start", "reason": "reload"})).await;
        }
        (loaded, told)
    }

    /// Those that may run, and those of the project that may not.
    async fn allowed(&self, found: Vec<Extension>) -> (Vec<Extension>, Vec<Extension>) {
        if !found.iter().any(|one| one.of_project) {
            return (found, Vec::new());
        }
        let extensions = self.extensions.clone();
        let trusted = tokio::task::spawn_blocking(move || extensions.are_trusted()).await.unwrap_or(false);
        found.into_iter().partition(|one| trusted || !one.of_project)
    }

    async fn fill(&self, loaded: &mut Loaded, engine: &Engine, found: &[Extension], told: &mut Vec<String>) {
        for extension in found {
            match engine.load(&extension.path).await {
                Ok(one) => match one.result {
                    Ok(_) => loaded.paths.push(extension.path.clone()),
                    Err(problem) => {
                        told.push(format!("the extension {} is not loaded: {}", extension.name, in_words(&problem)));
                    }
                },
                Err(error) => told.push(format!("the extension {} is not loaded: {error}", extension.name)),
            }
        }
        for stage in Stage::all().filter(|stage| stage.takes_handlers()) {
            for registration in engine.handlers(stage.name()).await.unwrap_or_default() {
                let known = found.iter().find(|extension| extension.path == registration.path);
                let name = known.map_or_else(|| registration.path.display().to_string(), |known| known.name.clone());
                let others = loaded.handlers.iter();
                let others =
                    others.filter(|(handler, other)| handler.stage == stage && other.path == registration.path);
                let id = match others.count() {
                    0 => name,
                    before => format!("{name}#{}", before + 1),
                };
                let place = Some(HandlerPlace { file: registration.path.display().to_string(), line: None });
                loaded.handlers.push((Handler { id, stage, place, deadline: DEADLINE, runs: true }, registration));
            }
        }
    }

    /// Tells those who watch that they are loaded again.
    async fn tell(&self, loaded: &Loaded, stage: Stage, event: &Value) {
        let Some(engine) = &loaded.engine else { return };
        for (handler, registration) in loaded.handlers.iter().filter(|(handler, _)| handler.stage == stage) {
            // What a watcher makes of it is its own matter.
            let _told = timeout(handler.deadline, engine.call(registration.clone(), event.clone())).await;
        }
    }

    /// Asks one of them; none where it is not one of these.
    pub(super) async fn ask(&self, handler: &Handler, call: &HandlerCall) -> Option<Result<HandlerReply, String>> {
        let loaded = self.loaded();
        let (_, registration) = loaded.handlers.iter().find(|(known, _)| known == handler)?;
        let engine = loaded.engine.as_ref()?;
        let (answer, told) = match engine.call(registration.clone(), call.event.clone()).await {
            Ok(answered) => answered,
            Err(error) => return Some(Err(error.to_string())),
        };
        if let Some(problem) = &answer.error {
            return Some(Err(in_words(problem)));
        }
        Some(Ok(HandlerReply::Answer {
            value: value_of(handler.stage, answer),
            saw: Vec::new(),
            said: lines(&told).join("\n"),
        }))
    }
}

/// What a handler answered, with what it changed in place where it does not say otherwise.
fn value_of(stage: Stage, answer: Answer) -> Value {
    let Answer { result, value, .. } = answer;
    // A payload is the whole answer, the others are fields of it.
    let fields = [(Stage::ToolCall, "input"), (Stage::Context, "messages")];
    let field = fields.into_iter().find(|(other, _)| *other == stage).map(|(_, field)| field);
    match (result, value, field) {
        (None, Some(value), Some(field)) => json!({field: value}),
        (Some(Value::Object(mut map)), Some(value), Some(field)) => {
            map.entry(field).or_insert(value);
            Value::Object(map)
        }
        (result, value, _) => result.or(value).unwrap_or_default(),
    }
}

fn in_words(problem: &Problem) -> String {
    let Problem { message, file, line, column, .. } = problem;
    match (file, line, column) {
        (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}: {message}"),
        (Some(file), ..) => format!("{file}: {message}"),
        (None, ..) => message.clone(),
    }
}

/// What extensions wrote and told people meanwhile.
fn lines(told: &Told) -> Vec<String> {
    let Told { said, lines, reports } = told;
    let notices = said.iter().filter(|said| said.name == "ui.notify");
    let notices = notices.filter_map(|said| Some(said.arguments.get("message")?.as_str()?.to_owned()));
    let written = lines.iter().map(|line| format!("{}: {}", line.level, line.text.trim_end()));
    let failed = reports.iter().map(|report| format!("beside what was asked: {}", in_words(report)));
    notices.chain(written).chain(failed).take(MOST_LINES).collect()
}
