//! A directive made ready to run: its inputs are accepted, and what surrounds its conversation can be planned.

use super::Setup;
use super::environment::EnvironmentProbe;
use super::item_library::ItemLibrary;
use crate::config::{Authorities, Authority, Trust};
use crate::context::{Ask, EnvironmentSnapshot, Meaning, Plan, PlanError, Preload, Start, State, ToolWords, plan};
use crate::domain::{Grant, Limits, Problem, Severity, ThreadKind};
use crate::engine::driver::Planner;
use crate::items::directive::{BadInput, Values};
use crate::items::{Directive, Hook, Hooks, Items, Kind, NotFound};
use crate::store::Layout;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

/// See the module.
#[derive(Clone, Debug)]
pub struct DirectivePlanner {
    /// Limits the directive sets.
    pub limits: Limits,
    /// What is wrong with the directive and what it names; it runs without.
    pub problems: Vec<Problem>,
    /// What the directive, or the nearest of those it extends, allows; none where nobody says anything of it.
    pub grants: Option<Vec<Grant>>,
    /// The riskiest of that, where nobody acknowledged it.
    pub unacknowledged: Option<String>,
    /// The directives of the project that have a part in that.
    authorities: Authorities,
    /// Whether the project may decide what costs the person money.
    trusted: bool,
    /// The events at which hooks say how to go on.
    asks: Vec<String>,
    /// What the directive has to hand back.
    outputs: Vec<String>,
    items: Items,
    /// What grants meant when the thread was made ready; the project's trust was asked for then.
    meaning: Meaning,
    directive: String,
    inputs: Values,
    project: PathBuf,
    preload: Preload,
    probe: EnvironmentProbe,
    /// Where the threads lie whose transcripts may be part of the context.
    layout: Option<Layout>,
    /// What extensions say of their tools, once the thread has these.
    pub(super) tools: WordsOfTools,
}

/// Who says what extensions want told of their tools: known once a thread has its tools, which is after it was made ready.
#[derive(Clone, Default)]
pub(super) struct WordsOfTools(Arc<OnceLock<Words>>);

/// Says it as it stands now.
type Words = Box<dyn Fn() -> Vec<ToolWords> + Send + Sync>;

impl WordsOfTools {
    pub(super) fn come_from(&self, says: impl Fn() -> Vec<ToolWords> + Send + Sync + 'static) {
        // A thread gets its tools once.
        let _first = self.0.set(Box::new(says));
    }

    fn said(&self) -> Vec<ToolWords> {
        self.0.get().map_or_else(Vec::new, |says| says())
    }
}

impl fmt::Debug for WordsOfTools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WordsOfTools").finish_non_exhaustive()
    }
}

/// Why a directive cannot run.
#[derive(Debug, thiserror::Error)]
pub enum PlannerError {
    #[error("{0}; `levain items` lists all items")]
    NotFound(#[from] NotFound),
    #[error("{0}")]
    Unreadable(Problem),
    #[error("`{directive}` cannot run: {problem}")]
    Directive { directive: String, problem: Problem },
    #[error("no thread can start: {0}")]
    Settings(Problem),
    #[error("`{directive}` cannot run: {}; set it with --input NAME=VALUE", joined(.bad))]
    Inputs { directive: String, bad: Vec<BadInput> },
    #[error("`{directive}` cannot run: {why}")]
    Plan { directive: String, why: Box<PlanError> },
}

fn joined(bad: &[BadInput]) -> String {
    bad.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl DirectivePlanner {
    /// Reads the directive `id` and looks whether it can be planned. Without `inputs` (a thread that goes on) it gets
    /// its defaults.
    ///
    /// # Errors
    /// [`PlannerError`].
    pub fn prepare(setup: &Setup, id: &str, inputs: Option<Values>) -> Result<Self, PlannerError> {
        if let Some(problem) = Problem::refusal(&setup.problems) {
            return Err(PlannerError::Settings(problem.clone()));
        }
        let start = Start::new(setup.model(), Limits::default(), ThreadKind::Interactive);
        let items = setup.items();
        if let Some(problem) = Setup::refused_handlers(&items) {
            return Err(PlannerError::Settings(problem));
        }
        let meaning = setup.meaning(&items);
        let place = (setup.project.root.clone(), Some(setup.layout.clone()));
        let mut planner = Self::of(items, meaning, place, id, inputs, &start)?;
        planner.preload = setup.preload();
        planner.probe = EnvironmentProbe::trusting(setup, &planner.items);
        let authority = Trust::authority(&setup.dirs, &setup.project.root, &planner.authorities);
        planner.distrust(id, &authority);
        Ok(planner)
    }

    fn of(
        items: Items,
        meaning: Meaning,
        (project, layout): (PathBuf, Option<Layout>),
        id: &str,
        inputs: Option<Values>,
        start: &Start,
    ) -> Result<Self, PlannerError> {
        let item = items.find(Kind::Directive, id)?.item;
        let text = items.read(item).map_err(PlannerError::Unreadable)?;
        let (directive, mut problems) = Directive::parse(&text, &items.file(item));
        problems.append(&mut directive.missing_of_handlers(&items));
        if let Some(problem) = Problem::refusal(&problems) {
            return Err(PlannerError::Directive { directive: id.to_owned(), problem: problem.clone() });
        }
        let inputs = match inputs {
            Some(given) => {
                directive.accept(given).map_err(|bad| PlannerError::Inputs { directive: id.to_owned(), bad })?
            }
            None => directive.defaults(),
        };
        let limits = directive.limits.limits;
        let mut planner = Self {
            limits,
            problems,
            grants: None,
            unacknowledged: None,
            authorities: Authorities::new(),
            trusted: true,
            asks: Vec::new(),
            outputs: directive.required_outputs(),
            directive: id.to_owned(),
            inputs,
            probe: EnvironmentProbe::new(&project),
            project,
            layout,
            preload: Preload::default(),
            tools: WordsOfTools::default(),
            items,
            meaning,
        };
        let plan = planner.planned(start)?;
        planner.asks = plan.asks();
        planner.problems.extend(plan.problems);
        planner.unacknowledged =
            plan.riskiest.filter(|riskiest| !riskiest.risk.acknowledged).map(|riskiest| riskiest.to_string());
        planner.grants = plan.is_permitted.then_some(plan.capabilities);
        planner.authorities = plan.authorities;
        Ok(planner)
    }

    /// Takes what nobody has looked at as untrusted: a whole project, or a directive that decides something else than
    /// when the project was trusted.
    fn distrust(&mut self, id: &str, authority: &Authority) {
        self.trusted = *authority == Authority::Given;
        if !self.trusted && !self.authorities.is_empty() {
            self.ask_for_everything(id, authority);
        }
    }

    /// Hooks of an untrusted project do not decide about limits: those are the person's money.
    fn is_heard(&self, hook: &Hook) -> bool {
        self.trusted || hook.event != "limit" || !hook.file.starts_with(&self.project)
    }

    /// What is told when `directive` does not take its inputs.
    pub(super) fn refused(directive: &str, bad: Vec<BadInput>) -> String {
        PlannerError::Inputs { directive: directive.to_owned(), bad }.to_string()
    }

    /// A directive of an untrusted project allows nothing without a question: who opens a project has not read it yet.
    fn ask_for_everything(&mut self, id: &str, authority: &Authority) {
        // What is granted in a sandbox asks nobody either, where there is one.
        let free = self.grants.iter_mut().flatten().filter(|grant| !grant.ask || grant.sandbox);
        if free.map(|grant| (grant.ask, grant.untrusted) = (true, true)).count() > 0 {
            self.problems.push(Problem {
                file: None,
                line: None,
                severity: Severity::Warning,
                message: match authority {
                    Authority::Changed(path) => format!(
                        "calls of `{id}` need approval: the permissions in {path} changed since you trusted this project"
                    ),
                    Authority::Given | Authority::Never => {
                        format!("calls of `{id}` need approval until you trust this project")
                    }
                },
                remedy: "read its directives, then run levain trust".to_owned(),
            });
        }
    }

    /// The plan for a thread, from the items as they are now.
    ///
    /// # Errors
    /// [`PlannerError::Plan`].
    pub fn planned(&self, start: &Start) -> Result<Plan, PlannerError> {
        let items = self.items.afresh();
        let hooks = Hooks::read(&items);
        let tools = self.tools.said();
        let library = ItemLibrary::of_thread(&items, self.layout.as_ref(), &tools);
        let project = self.project.display().to_string();
        let (directive, inputs, meaning) = (&self.directive, &self.inputs, &self.meaning);
        let ask = Ask { directive, inputs, project: &project, start, hooks: &hooks, meaning };
        let mut plan = plan(&ask, &library)
            .map_err(|why| PlannerError::Plan { directive: self.directive.clone(), why: Box::new(why) })?;
        plan.hooks.retain(|hook| self.is_heard(hook));
        if !self.trusted {
            let of_the_project = plan.hooks.iter_mut().filter(|hook| hook.file.starts_with(&self.project));
            of_the_project.for_each(|hook| hook.action.run_nothing());
            // Who opens a project has not read what it asks of their servers, which would start in its folder.
            if !self.authorities.is_empty() {
                plan.state.iter_mut().for_each(State::ask_no_server);
            }
        }
        plan.preload = self.preload.clone();
        Ok(plan)
    }
}

impl Planner for DirectivePlanner {
    fn plan(&self, start: &Start) -> Result<Plan, String> {
        self.planned(start).map_err(|error| error.to_string())
    }

    fn outputs(&self) -> Vec<String> {
        self.outputs.clone()
    }

    fn asks(&self) -> Vec<String> {
        self.asks.clone()
    }

    fn snapshot<'a>(&'a self, state: &'a [State]) -> Pin<Box<dyn Future<Output = EnvironmentSnapshot> + Send + 'a>> {
        Box::pin(self.probe.look(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::capability::to_execute;
    use crate::domain::{Absence, Decision, LayerKind, ModelRef, Permissions, Verdict};
    use crate::items::Spaces;
    use std::fs;
    use std::path::Path;

    fn start() -> Start {
        Start::new(ModelRef::new("a", "b"), Limits::default(), ThreadKind::OneShot)
    }

    fn prepare(folder: &Path, id: &str, inputs: Option<Values>) -> Result<DirectivePlanner, PlannerError> {
        let items = Items::list(&Spaces::new(folder, folder, []));
        DirectivePlanner::of(items, Meaning::default(), (folder.to_owned(), None), id, inputs, &start())
    }

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_directive_brings_its_context_and_its_body() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), ".ai/knowledge/team/rules.md", "```yaml\nname: rules\n```\n\nBe kind.\n");
        write(
            folder.path(),
            ".ai/directives/team/ship.md",
            "```xml\n<directive name=\"ship\" extends=\"levain/core/base\"><metadata><limits turns=\"3\"/><context>\
             <system>team/rules</system><system optional=\"true\">team/gone</system></context></metadata>\n\
             <inputs><input name=\"target\" required=\"true\"/></inputs></directive>\n```\nShip to {input:target}.\n",
        );
        let prepare = |id: &str, values: Option<Values>| prepare(folder.path(), id, values);
        let planner = prepare("team/ship", Some(Values::from([("target".into(), "the moon".into())]))).unwrap();
        let plan = planner.planned(&start()).unwrap();
        assert_eq!(plan.chain, ["levain/core/base", "team/ship"]);
        let rules = plan.system.iter().find(|piece| piece.id == "team/rules").unwrap();
        assert_eq!((&*rules.text, rules.kind), ("Be kind.", LayerKind::DirectiveSystem));
        let gone = plan.system.iter().find(|piece| piece.id == "team/gone").unwrap();
        assert!(matches!(gone.decision, Decision::Skipped { absence: Absence::Missing { .. } }));
        let prompt = plan.opening.iter().find(|piece| piece.kind == LayerKind::Prompt).unwrap();
        assert_eq!(&*prompt.text, "<directive name=\"ship\">\nShip to the moon.\n</directive>");
        assert_eq!(planner.limits.turns, Some(3));
        let refused = prepare("team/ship", Some(Values::new())).unwrap_err().to_string();
        assert!(refused.starts_with("`team/ship` cannot run: the input `target` is missing; set it"), "{refused}");
        assert!(prepare("team/ship", None).is_ok());
        let unknown = prepare("team/shop", None).unwrap_err().to_string();
        assert!(unknown.contains("did you mean `team/ship`?"), "{unknown}");
    }

    #[test]
    fn the_chat_reads_and_asks_before_it_does_more() {
        let folder = tempfile::tempdir().unwrap();
        let grants = prepare(folder.path(), "levain/chat", None).unwrap().grants;
        let permissions = Permissions::below(grants, Vec::new());
        let verdict = |id: &str| permissions.verdict(&[to_execute(id)]);
        for id in ["read", "ls", "glob", "grep"] {
            assert_eq!(verdict(&format!("rye/file-system/{id}")), Verdict::Allowed, "{id}");
        }
        for id in ["rye/file-system/write", "rye/file-system/edit_lines", "rye/bash", "rye/web/fetch/fetch"] {
            assert_eq!(verdict(id), Verdict::Ask, "{id}");
        }
        assert_eq!(verdict("team/deploy"), Verdict::Denied);
    }

    #[test]
    fn what_must_be_there_and_is_not_is_an_error_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let text = "```xml\n<directive name=\"a\"><metadata>\n<context>\n<before>team/gone</before></context></metadata></directive>\n```\nDo it.\n";
        write(folder.path(), ".ai/directives/a.md", text);
        let error = prepare(folder.path(), "a", None).unwrap_err().to_string();
        assert!(
            error.contains("there is no knowledge `team/gone`") && error.contains(".ai/directives/a.md:4"),
            "{error}"
        );
        let big = format!("```yaml\nname: gone\n```\n{}", "x".repeat(1 << 20));
        write(folder.path(), ".ai/knowledge/team/gone.md", &big);
        let error = prepare(folder.path(), "a", None).unwrap_err().to_string();
        assert!(error.contains("longer than one mebibyte"), "{error}");
    }

    #[test]
    fn limits_are_not_decided_about_by_strangers() {
        let folder = tempfile::tempdir().unwrap();
        let (user, project) = (folder.path().join("user"), folder.path().join("project"));
        let control =
            "action: {primary: execute, item_type: tool, item_id: levain/control, params: {action: continue}}";
        let hooks = |id: &str| {
            format!(
                "hooks:\n- {{id: {id}_limit, event: limit, {control}}}\n- {{id: {id}_step, event: after_step, {control}}}\n"
            )
        };
        write(&user, ".ai/config/agent/hooks.yaml", &hooks("my"));
        write(&project, ".ai/config/agent/hooks.yaml", &hooks("their"));
        let xml = "<hook id=\"own_limit\" event=\"limit\"><action primary=\"execute\" item_type=\"tool\" \
                   item_id=\"levain/control\"><param name=\"action\">skip</param></action></hook>";
        let text = format!(
            "```xml\n<directive name=\"a\"><metadata><hooks>{xml}</hooks></metadata></directive>\n```\nDo it.\n"
        );
        write(&project, ".ai/directives/a.md", &text);
        let items = Items::list(&Spaces::new(&project, &user, []));
        let mut planner =
            DirectivePlanner::of(items, Meaning::default(), (project, None), "a", None, &start()).unwrap();
        assert_eq!(Planner::asks(&planner), ["error", "limit", "after_step"]);
        let mine = |planner: &DirectivePlanner| {
            let hooks = planner.planned(&start()).unwrap().hooks;
            let ours = hooks.into_iter().filter(|hook| hook.id.ends_with("_limit") || hook.id.ends_with("_step"));
            ours.map(|hook| hook.id).filter(|id| !id.starts_with("default")).collect::<Vec<_>>()
        };
        assert_eq!(mine(&planner), ["my_limit", "my_step", "own_limit", "their_limit", "their_step"]);
        planner.distrust("a", &Authority::Never);
        assert_eq!(mine(&planner), ["my_limit", "my_step", "their_step"]);
    }

    #[test]
    fn project_files_of_the_repository_come_before_the_projects() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("outer/repository/packages/one");
        for (below, text) in [("outer", "No."), ("outer/repository", "All."), ("outer/repository/packages/one", "One.")]
        {
            write(folder.path(), &format!("{below}/AGENTS.md"), text);
        }
        write(folder.path(), "outer/repository/.git/HEAD", "ref: refs/heads/main\n");
        let text = "```xml\n<directive name=\"a\"><metadata><context><provider>project_files</provider></context></metadata>\
                    </directive>\n```\nDo it.\n";
        write(&project, ".ai/directives/a.md", text);
        let told = || {
            let plan = prepare(&project, "a", None).unwrap().planned(&start()).unwrap();
            let files = plan.system.iter().filter(|piece| piece.kind == LayerKind::ProjectFile);
            files.map(|piece| piece.text.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(told(), ["# ../../AGENTS.md\n\nAll.", "# AGENTS.md\n\nOne."]);
        fs::remove_dir_all(folder.path().join("outer/repository/.git")).unwrap();
        assert_eq!(told(), ["# AGENTS.md\n\nOne."]);
    }

    #[test]
    fn project_files_and_skills_come_when_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "AGENTS.md", "Use tabs.\n");
        write(folder.path(), "CLAUDE.md", "Never read.\n");
        write(folder.path(), ".ai/skills/cook/SKILL.md", "---\nname: cook\ndescription: Makes soup\n---\nBoil.\n");
        let hidden = "---\ndescription: Mine alone\ndisable-model-invocation: true\n---\nHide.\n";
        write(folder.path(), ".ai/skills/hide/SKILL.md", hidden);
        let text = "```xml\n<directive name=\"a\"><metadata><context><provider>skills</provider><provider>project_files</provider>\
                    </context></metadata></directive>\n```\nDo it.\n";
        write(folder.path(), ".ai/directives/a.md", text);
        write(folder.path(), ".ai/directives/b.md", "```xml\n<directive name=\"b\"/>\n```\nDo it.\n");
        let system = |id: &str| {
            let plan = prepare(folder.path(), id, None).unwrap().planned(&start()).unwrap();
            let texts = plan.system.iter().filter(|piece| piece.is_included()).skip(1);
            texts.map(|piece| piece.text.to_string()).collect::<Vec<_>>()
        };
        let texts = system("a");
        assert_eq!(texts[0], "# AGENTS.md\n\nUse tabs.");
        assert!(texts[1].ends_with("\n- cook: Makes soup (.ai/skills/cook/SKILL.md)"), "{texts:?}");
        assert_eq!(system("b"), Vec::<String>::new());
        fs::remove_file(folder.path().join("AGENTS.md")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("AGENTS.md")).unwrap();
        let plan = prepare(folder.path(), "a", None).unwrap().planned(&start()).unwrap();
        let file = plan.system.iter().find(|piece| piece.kind == LayerKind::ProjectFile).unwrap();
        assert!(matches!(file.decision, Decision::Skipped { absence: Absence::Refused { .. } }), "{file:?}");
    }
}
