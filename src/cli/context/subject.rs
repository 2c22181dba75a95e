//! What is looked at: a directive as it would be sent now, or a request as it was sent.

use super::Draft;
use crate::cli::failure::Failure;
use crate::cli::{find, runtime};
use crate::context::diff::Side;
use crate::context::{Plan, Start, State};
use crate::domain::{Assembly, Limits, ModelRef, Permissions, Problem, Severity, ThreadId, ThreadKind};
use crate::engine::driver::{Planner, Previewed, Subject, previewed};
use crate::engine::thread::Thread;
use crate::items::directive::Values;
use crate::items::{Items, Kind};
use crate::pipeline::Forms;
use crate::ports::Handlers;
use crate::session::{Chosen, DirectivePlanner, Setup, toolbox};
use crate::store::request;
use std::sync::Arc;

/// A directive's first request, before anybody sends it.
pub(super) struct Planned {
    pub(super) plan: Plan,
    /// What is wrong with the directive and its plan, and costs nothing so far.
    pub(super) problems: Vec<Problem>,
    pub(super) assembly: Assembly,
    pub(super) model: ModelRef,
    pub(super) previewed: Previewed,
    pub(super) handlers: Arc<dyn Handlers>,
}

/// Whether commands of context providers are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commands {
    Asked,
    Unasked,
}

/// Plans and assembles as a thread would.
pub(super) fn planned(setup: &Setup, directive: &str, draft: &Draft, commands: Commands) -> Result<Planned, Failure> {
    let given: Values = draft.input.iter().cloned().collect();
    let planner = DirectivePlanner::prepare(setup, directive, Some(given))?;
    let items = setup.items();
    let (mut chosen, doubt) = chosen(setup, &items, directive);
    if commands == Commands::Asked && chosen.look {
        chosen.model = runtime()?.block_on(setup.models.default_found());
    }
    let start = start(setup, directive, chosen.model, planner.limits, draft);
    let runs = commands == Commands::Asked;
    let (runtime, looked) = (runtime()?, setup.looked(&items, directive));
    runtime.block_on(looked.handlers.ready(runs));
    let id = start.thread_id.clone().unwrap_or_else(|| ThreadId::new(directive, setup.now().0));
    let mut thread = Thread::new(id, directive, start.kind, start.model.clone(), start.limits);
    thread.permissions = setup.answered(Permissions::below(planner.grants.clone(), Vec::new()), Vec::new());
    let known = toolbox::known(&items, &thread.permissions, || setup.trust().allows());
    let known = looked.equip(known, &thread.permissions, &planner);
    let plan = Arc::new(planner.planned(&start)?);
    let looks = |state: &&State| runs || state.command().is_none();
    let looks: Vec<State> = plan.state.iter().filter(looks).cloned().collect();
    let snapshot = runtime.block_on(planner.snapshot(&looks));
    let (state, text) = (plan.state(&snapshot), draft.prompt.clone());
    let (images, files) = (Vec::new(), Vec::new());
    let subject =
        Subject { thread, plan: Arc::clone(&plan), state, known, text, images, files, forms: Forms::default() };
    let handlers = looked.handlers;
    let previewed = previewed(Arc::clone(&handlers), runs, subject);
    let previewed = runtime.block_on(previewed).map_err(Failure::new)?;
    let news = handlers.news();
    let assembly = previewed.built.assembly.clone();
    let mut problems = planner.problems;
    problems.extend(doubt);
    problems.extend(chosen.notice.map(|message| Problem {
        file: None,
        line: None,
        severity: Severity::Warning,
        message,
        remedy: "levain models says what each needs".to_owned(),
    }));
    problems.extend(news.into_iter().map(|message| Problem {
        file: None,
        line: None,
        severity: Severity::Warning,
        message,
        remedy: "levain extensions says what is wrong with each".to_owned(),
    }));
    for problem in &plan.problems {
        if !problems.contains(problem) {
            problems.push(problem.clone());
        }
    }
    let plan = Arc::unwrap_or_clone(plan);
    Ok(Planned { plan, problems, assembly, model: start.model, previewed, handlers })
}

/// The model that a thread of `directive` would use. The context can be looked at where that cannot be had, too, and
/// why not is told.
pub(super) fn chosen(setup: &Setup, items: &Items, directive: &str) -> (Chosen, Option<Problem>) {
    match setup.choose(items, directive) {
        Ok(chosen) => (chosen, None),
        Err(error) => {
            let found = items.get(Kind::Directive, directive);
            let doubt = found.and_then(|found| setup.doubt(items, found.item)).unwrap_or_else(|| Problem {
                file: None,
                line: None,
                severity: Severity::Error,
                message: error.to_string(),
                remedy: "name one with --model".to_owned(),
            });
            (Chosen { model: setup.model(), look: false, notice: None }, Some(doubt))
        }
    }
}

/// What the thread would know of itself.
pub(super) fn start(setup: &Setup, directive: &str, model: ModelRef, limits: Limits, draft: &Draft) -> Start {
    let (kind, limits) = if draft.interactive {
        (ThreadKind::Interactive, limits)
    } else {
        (ThreadKind::OneShot, setup.one_shot_limits().overridden(limits))
    };
    // As it would be called if it were started now.
    let thread_id = Some(ThreadId::new(directive, setup.now().0));
    Start { thread_id, previous: draft.continues.clone(), ..Start::new(model, limits, kind) }
}

/// A stored request: of a turn its last attempt, else the newest.
pub(super) fn stored(
    setup: &Setup,
    thread: &ThreadId,
    turn: Option<u32>,
    number: Option<u32>,
) -> Result<request::Stored, Failure> {
    let numbers = request::numbers(&setup.layout, thread)?;
    let wanted =
        |(other, of): &&(u32, u32)| number.is_none_or(|number| number == *other) && turn.is_none_or(|turn| turn == *of);
    let Some((found, _)) = numbers.iter().rev().find(wanted) else {
        let there: Vec<_> = numbers.iter().map(|(number, turn)| format!("{thread}#{number} (turn {turn})")).collect();
        let hint = if there.is_empty() { "it has sent nothing yet".to_owned() } else { there.join(", ") };
        return Err(Failure::usage(format!("there is no such request of {thread}")).hint(hint));
    };
    Ok(request::read(&setup.layout, thread, *found)?)
}

/// The side that `stored` is.
pub(super) fn side(stored: &request::Stored) -> Side {
    Side {
        system: stored.system.clone(),
        messages: stored.messages.clone(),
        layers: stored.record.layers.clone(),
        texts: stored.texts.clone(),
    }
}

/// `THREAD#NUMBER`, a directive's id, or a thread.
pub(super) fn named(setup: &Setup, name: &str, draft: &Draft) -> Result<(String, Side), Failure> {
    if let Some((thread, number)) = name.rsplit_once('#') {
        let number = number.parse().map_err(|_error| {
            Failure::usage(format!("`{name}` names no request"))
                .hint("write it as THREAD#NUMBER, such as chat-1700000000000#2")
        })?;
        let thread = find::thread(setup, thread)?;
        let stored = stored(setup, &thread, None, Some(number))?;
        return Ok((format!("{thread}#{number}"), side(&stored)));
    }
    if setup.items().get(Kind::Directive, name).is_some() {
        let planned = planned(setup, name, draft, Commands::Asked)?;
        return Ok((name.to_owned(), Side::from(&planned.assembly)));
    }
    let thread = find::thread(setup, name)?;
    let stored = stored(setup, &thread, None, None)?;
    Ok((format!("{thread}#{}", stored.record.number), side(&stored)))
}
