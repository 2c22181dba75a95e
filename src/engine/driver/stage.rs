//! One stage of the pipeline: its handlers, one after the other, each with its deadline.
//!
//! What this waits for is waited for off the loop. A person can skip the handler that is waited for, and stop before one at
//! a breakpoint.

use crate::domain::command::{Breakpoint, Resume};
use crate::domain::image::checked;
use crate::domain::{Image, Saw, Stage, StageValue, Step, StepOutcome, ToolCall};
use crate::pipeline::{Chain, Merged, image};
use crate::ports::handlers::DEADLINE;
use crate::ports::store::KeepImage;
use crate::ports::{Expansion, Handler, HandlerCall, HandlerReply, Handlers, NotExpanded, ToolRunner};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep};

/// How long a text may take before people are told that it is waited for.
const SHORT: Duration = Duration::from_millis(100);

/// What somebody who watches is told while handlers are asked.
#[derive(Debug)]
pub(super) enum StageProgress {
    /// This one is waited for.
    Asks { stage: Stage, handler: String },
    /// It stands still before one, with this value, until somebody says how to go on.
    Paused { stage: Stage, handler: String, chain: Chain, resume: oneshot::Sender<Resume> },
}

/// How a stage that runs for real is watched and steered.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    pub(super) progress: mpsc::Sender<StageProgress>,
    pub(super) skip: Arc<Notify>,
    pub(super) breakpoints: Arc<Mutex<Breakpoints>>,
}

/// Before which handlers a thread stands still.
#[derive(Debug, Default)]
pub(super) struct Breakpoints {
    pub(super) set: Vec<Breakpoint>,
    /// Before the next handler, whichever that is.
    pub(super) steps: bool,
}

impl Breakpoints {
    /// Whether it stands still before this handler with this value. A step is taken then.
    fn stops(&mut self, handler: &Handler, event: &Value) -> bool {
        let Handler { stage, id, .. } = handler;
        let named = self.set.iter().any(|breakpoint| breakpoint.is_at(*stage, id, event));
        stage.pauses() && (std::mem::take(&mut self.steps) || named)
    }
}

/// Who is asked, and on which terms.
#[derive(Clone)]
pub(super) struct Asking {
    pub(super) handlers: Arc<dyn Handlers>,
    /// What is known of the thread.
    pub(super) facts: Value,
    /// Somebody only looks.
    pub(super) preview: bool,
    /// Whether handlers that run something are asked.
    pub(super) runs: bool,
    pub(super) watch: Option<Watch>,
    /// How many questions wait for a person: nobody's time runs meanwhile.
    pub(super) person: Option<watch::Receiver<usize>>,
    /// What keeps images that handlers add; without, they are only looked at.
    pub(super) images: Option<KeepImage>,
}

/// What `asked` comes to within its deadline, which stands still while a person is asked something; none beyond it.
pub(super) async fn within<T>(
    deadline: Duration,
    mut person: Option<watch::Receiver<usize>>,
    asked: impl Future<Output = T>,
) -> Option<T> {
    let mut asked = pin!(asked);
    let mut left = deadline;
    loop {
        let (begun, waits) = (Instant::now(), person.as_mut().is_some_and(|person| *person.borrow_and_update() > 0));
        let changed = async {
            let changed = match &mut person {
                Some(person) => person.changed().await.is_ok(),
                None => false,
            };
            if !changed {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            done = &mut asked => return Some(done),
            () = changed => {}
            () = sleep(left), if !waits => return None,
        }
        if !waits {
            left = left.saturating_sub(begun.elapsed());
        }
    }
}

/// A handler that was asked, with what it got and made.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) step: Step,
    pub(super) before: Option<StageValue>,
    pub(super) after: Option<StageValue>,
}

/// A stage that is over.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) chain: Chain,
    pub(super) asked: Vec<Asked>,
    /// Somebody gave it up at a breakpoint.
    pub(super) aborted: bool,
}

impl Passed {
    /// The last handler that changed the value.
    pub(super) fn changed_by(&self) -> Option<&Step> {
        let steps = self.asked.iter().map(|asked| &asked.step);
        steps.rev().find(|step| step.outcome == StepOutcome::Changed || step.edited)
    }
}

impl Asking {
    /// Whether anybody is asked at a stage.
    pub(super) fn has(&self, stage: Stage) -> bool {
        self.handlers.listens(stage)
    }

    /// Takes a value through the handlers of its stage.
    pub(super) async fn through(&self, mut chain: Chain) -> Passed {
        let stage = chain.stage();
        let mut asked = Vec::new();
        let handlers = self.handlers.at(stage);
        // Where a guard saw other arguments than those that stand in the end, it is asked once more.
        let mut changed_at = 0;
        let (mut event, since) = (None, std::time::Instant::now());
        for (place, handler) in handlers.iter().enumerate() {
            if handler.runs && !self.runs {
                continue;
            }
            let mut edited = false;
            match self.pause(handler, &chain).await {
                None | Some(Resume::Continue { value: None } | Resume::Step) => {}
                Some(Resume::Continue { value: Some(value) }) => {
                    // Whoever wrote it was told whether it can be taken.
                    edited = chain.replace(&value).is_ok();
                    event = None;
                }
                Some(Resume::Skip) => {
                    asked.push(Asked::new(handler, StepOutcome::Skipped));
                    continue;
                }
                Some(Resume::Abort) => return Passed { chain, asked, aborted: true },
            }
            let (one, goes_on) = self.ask(handler, &mut chain, (&mut event, since), edited).await;
            if edited || one.step.outcome == StepOutcome::Changed {
                changed_at = place;
            }
            asked.push(one);
            if !goes_on {
                return Passed { chain, asked, aborted: false };
            }
        }
        if stage == Stage::ToolCall {
            for handler in handlers.iter().take(changed_at) {
                let mut again = chain.clone();
                let (one, goes_on) = self.ask(handler, &mut again, (&mut None, since), false).await;
                if !goes_on {
                    asked.push(one);
                    return Passed { chain: again, asked, aborted: false };
                }
            }
        }
        Passed { chain, asked, aborted: false }
    }

    /// Has the tool of a call mend its arguments.
    pub(super) async fn mended(&self, tools: &dyn ToolRunner, item: &str, call: &mut ToolCall) -> Asked {
        let (begun, before) = (Instant::now(), call.input.clone().into());
        let outcome = match within(DEADLINE, None, tools.mended(item, call)).await {
            Some(Ok(input)) if input == call.input => StepOutcome::Unchanged,
            Some(Ok(input)) => {
                call.input = input;
                StepOutcome::Changed
            }
            Some(Err(error)) => StepOutcome::Failed { error },
            None => StepOutcome::Failed { error: "its arguments were not made ready in time".to_owned() },
        };
        let after = (outcome == StepOutcome::Changed).then(|| call.input.clone().into());
        let mut asked = Asked::of(Stage::ToolCall, format!("{} makes arguments ready", call.tool), outcome);
        asked.step.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Asked { before: Some(before), after, ..asked }
    }

    /// What stands for the skill or template that `text` names with its first word, `name`. Where somebody else has to be asked
    /// for it, a person sees that they wait, and can stop it. In a thread that another started nobody is asked: its prompts
    /// come from models, which ask servers by tools that they were granted.
    pub(super) async fn expanded(&self, name: &str, text: String) -> Result<Option<Expansion>, NotExpanded> {
        let is_child = self.facts.get("depth").and_then(Value::as_u64).is_some_and(|depth| depth > 0);
        let expanding = self.handlers.expand(text, self.runs && !is_child);
        let Some(watch) = &self.watch else { return expanding.await };
        let mut expanding = pin!(expanding);
        // What a file says is there before anybody could see a word of it.
        if let Ok(done) = tokio::time::timeout(SHORT, &mut expanding).await {
            return done;
        }
        let handler = name.trim_start_matches('/').to_owned();
        let _nobody_keeps_up = watch.progress.try_send(StageProgress::Asks { stage: Stage::Template, handler });
        tokio::select! {
            biased;
            done = &mut expanding => done,
            () = watch.skip.notified() => Err(NotExpanded::GivenBack("you did not wait for it".to_owned())),
        }
    }

    /// Stands still before a handler where somebody wants that.
    async fn pause(&self, handler: &Handler, chain: &Chain) -> Option<Resume> {
        // What has happened stands still nowhere.
        let watch = self.watch.as_ref().filter(|_| !matches!(chain, Chain::Observe { .. }))?;
        let stops = |breakpoints: &mut Breakpoints| {
            // A value is written out only where somebody wants to look at one.
            (breakpoints.steps || !breakpoints.set.is_empty()) && breakpoints.stops(handler, &chain.event().json())
        };
        if !stops(&mut watch.breakpoints.lock().unwrap_or_else(PoisonError::into_inner)) {
            return None;
        }
        let (resume, resumed) = oneshot::channel();
        let (stage, handler) = (handler.stage, handler.id.clone());
        watch.progress.send(StageProgress::Paused { stage, handler, chain: chain.clone(), resume }).await.ok()?;
        resumed.await.ok()
    }

    /// Takes what a handler answered; images that it adds to a prompt are kept first.
    async fn taken(&self, chain: &mut Chain, mut answer: StageValue, by: &str) -> Result<Merged, String> {
        if let (Chain::Input { added, .. }, StageValue::Json(answer)) = (&mut *chain, &mut answer)
            && let Some(blocks) = Arc::make_mut(answer).get_mut("images").and_then(Value::as_array_mut)
        {
            added.extend(new_images(blocks, self.images.clone()).await?);
        }
        chain.merge(&answer, by)
    }

    /// Asks one handler of a chain that goes on `since` then. `known` is the event of the chain where somebody has made it, and
    /// is so again afterwards.
    async fn ask(
        &self,
        handler: &Handler,
        chain: &mut Chain,
        (known, since): (&mut Option<StageValue>, std::time::Instant),
        edited: bool,
    ) -> (Asked, bool) {
        if let Some(watch) = &self.watch {
            let (stage, handler) = (handler.stage, handler.id.clone());
            let _nobody_keeps_up = watch.progress.try_send(StageProgress::Asks { stage, handler });
        }
        let event = known.take().unwrap_or_else(|| chain.event());
        let call = HandlerCall { event: event.clone(), facts: self.facts.clone(), preview: self.preview, since };
        let begun = Instant::now();
        let never = Arc::new(Notify::new());
        let skip = self.watch.as_ref().map_or(&never, |watch| &watch.skip);
        // The guard of a tool is not passed over: who does not want to wait for it stops the turn.
        let skippable = handler.stage != Stage::ToolCall;
        let reply = tokio::select! {
            biased;
            () = skip.notified(), if skippable => Err(StepOutcome::Skipped),
            reply = within(handler.deadline, self.person.clone(), self.handlers.ask(handler, &call)) => match reply {
                Some(Ok(reply)) => Ok(reply),
                Some(Err(error)) => Err(StepOutcome::Failed { error }),
                None => Err(StepOutcome::TimedOut),
            },
        };
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut goes_on = true;
        let (mut saw, mut said): (Vec<Saw>, String) = (Vec::new(), String::new());
        let outcome = match reply {
            Ok(HandlerReply::NotAsked { saw: tests }) => {
                saw = tests;
                StepOutcome::NotAsked
            }
            Ok(HandlerReply::Refused { reason }) => {
                goes_on = chain.failed(&reason).goes_on();
                StepOutcome::Refused { reason }
            }
            Ok(HandlerReply::Answer { value, saw: tests, said: printed }) => {
                (saw, said) = (tests, printed);
                match self.taken(chain, value, &handler.id).await {
                    Ok(Merged::Unchanged) => StepOutcome::Unchanged,
                    Ok(Merged::Changed) => StepOutcome::Changed,
                    Ok(Merged::Handled) => {
                        goes_on = false;
                        StepOutcome::Handled
                    }
                    Ok(Merged::Blocked) => {
                        goes_on = false;
                        StepOutcome::Blocked { reason: blocked(chain) }
                    }
                    Err(error) => {
                        goes_on = chain.failed(&error).goes_on();
                        StepOutcome::Failed { error }
                    }
                }
            }
            Err(outcome) => {
                let why = match &outcome {
                    StepOutcome::Failed { error } => error.clone(),
                    StepOutcome::Unchanged
                    | StepOutcome::Changed
                    | StepOutcome::Handled
                    | StepOutcome::Blocked { .. }
                    | StepOutcome::NotAsked
                    | StepOutcome::Refused { .. }
                    | StepOutcome::TimedOut
                    | StepOutcome::Skipped => {
                        format!("the handler {} did not answer within {} s", handler.id, handler.deadline.as_secs())
                    }
                };
                if outcome != StepOutcome::Skipped {
                    goes_on = chain.failed(&why).goes_on();
                }
                outcome
            }
        };
        let was_asked = outcome != StepOutcome::NotAsked;
        let after = (outcome == StepOutcome::Changed).then(|| chain.event());
        *known = match outcome {
            StepOutcome::Changed => after.clone(),
            StepOutcome::Unchanged | StepOutcome::NotAsked => Some(event.clone()),
            StepOutcome::Handled
            | StepOutcome::Blocked { .. }
            | StepOutcome::Failed { .. }
            | StepOutcome::Refused { .. }
            | StepOutcome::TimedOut
            | StepOutcome::Skipped => None,
        };
        let step = Step { took_ms, saw, said, edited, ..Asked::new(handler, outcome).step };
        (Asked { step, before: was_asked.then_some(event), after }, goes_on)
    }
}

impl Asked {
    fn new(handler: &Handler, outcome: StepOutcome) -> Self {
        let mut asked = Self::of(handler.stage, handler.id.clone(), outcome);
        asked.step.place.clone_from(&handler.place);
        asked
    }

    fn of(stage: Stage, handler: String, outcome: StepOutcome) -> Self {
        let step = Step {
            stage,
            handler,
            place: None,
            outcome,
            took_ms: 0,
            before: None,
            after: None,
            saw: Vec::new(),
            said: String::new(),
            edited: false,
        };
        Self { step, before: None, after: None }
    }
}

/// Keeps the images among `blocks` that come with their bytes, and puts them there by their hashes.
async fn new_images(blocks: &mut [Value], keep: Option<KeepImage>) -> Result<Vec<Image>, String> {
    let keep = keep.unwrap_or_else(|| Arc::new(|name, bytes| checked(name, &bytes)));
    let mut all = Vec::new();
    for (number, block) in (1..).zip(blocks) {
        let Some(data) = block.get_mut("data").map(Value::take) else { continue };
        let (name, keep) = (format!("image {number}"), Arc::clone(&keep));
        let refused = |why: &str| format!("its image {number} was not taken in: {why}");
        let kept = tokio::task::spawn_blocking(move || {
            let data = data.as_str().ok_or("its data is no text")?;
            let bytes = BASE64_STANDARD.decode(data).map_err(|error| format!("its data is not in base64: {error}"))?;
            keep(name, bytes)
        });
        let kept = kept.await.unwrap_or_else(|error| Err(error.to_string()));
        let kept = kept.map_err(|why| refused(&why))?;
        *block = image(&kept.media_type, &kept.hash);
        all.push(kept);
    }
    Ok(all)
}

fn blocked(chain: &Chain) -> String {
    match chain {
        Chain::ToolCall { blocked, .. } => blocked.clone().unwrap_or_default(),
        Chain::Compact(_) => "cancelled".to_owned(),
        Chain::Input { .. }
        | Chain::BeforeAgentStart { .. }
        | Chain::Context { .. }
        | Chain::BeforeProviderHeaders { .. }
        | Chain::BeforeProviderRequest { .. }
        | Chain::MessageEnd { .. }
        | Chain::ToolResult { .. }
        | Chain::Observe { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::HandlerPlace;
    use crate::ports::Handler;
    use crate::ports::tools::Waiting;
    use serde_json::json;

    /// Templates whose text is whether somebody may be asked for it.
    struct Told;

    impl Handlers for Told {
        fn at(&self, _stage: Stage) -> Vec<Handler> {
            Vec::new()
        }

        fn ask<'a>(&'a self, _: &'a Handler, _: &'a HandlerCall) -> Waiting<'a, Result<HandlerReply, String>> {
            Box::pin(std::future::pending())
        }

        fn expand(&self, text: String, runs: bool) -> Waiting<'_, Result<Option<Expansion>, NotExpanded>> {
            let place = HandlerPlace { file: String::new(), line: None };
            let (name, said) = (text, String::new());
            let expansion = Expansion { stage: Stage::Template, name, place, text: runs.to_string(), said };
            Box::pin(std::future::ready(Ok(Some(expansion))))
        }
    }

    #[tokio::test]
    async fn servers_are_asked_for_prompts_of_people_alone() {
        for (depth, runs, asked) in [(0, true, "true"), (0, false, "false"), (1, true, "false"), (2, true, "false")] {
            let handlers: Arc<dyn Handlers> = Arc::new(Told);
            let facts = json!({ "depth": depth });
            let asking = Asking { handlers, facts, preview: false, runs, watch: None, person: None, images: None };
            let text = asking.expanded("/x", "/x".to_owned()).await.unwrap().unwrap().text;
            assert_eq!(text, asked, "{depth} {runs}");
        }
    }
}
