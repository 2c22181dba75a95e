//! From a directive, hooks and items to everything that will surround the conversation, each piece with its decision.
//!
//! A plan is made once, before a thread's first request. What it could not bring along is in it too, with the reason.

use super::chain::{self, ChainError, Link};
use super::condition::judge;
use super::continuation::{self, CONTINUATION, PLAIN};
use super::facts::{Facts, Start};
use super::fill::Filling;
use super::library::{Hidden, Library, Loaded, Lost};
use super::palette::{Preload, offer};
use super::permit::{Meaning, Riskiest, permitted};
use super::provider::{self, EnvironmentSnapshot, State};
use super::route::{Fate, Route, routes};
use crate::domain::capability::RETURN;
use crate::domain::{
    Absence, Assembly, Decision, Grant, KnownTool, LayerKind, Lifetime, Origin, Permissions, Piece, Problem, Severity,
    Space, ToolRef, ToolSpec, Via,
};
use crate::items::directive::{BuiltInProvider, Mention, Values};
use crate::items::hook::{Action, CONTROL_EVENTS, Call, Condition, Hooks, MOST, Position, Primary};
use crate::items::{Hook, Kind, Knowledge, is_same};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use crate::items::knowledge::CONSTITUTION;

/// What the output `status` means that every directive with outputs has, if it has none of its own.
pub const STATUS: &str = "`error` if the directive cannot be done; else left out";

/// How to summarise what was said, when it no longer fits.
const COMPACTION: &str = "levain/core/Compaction";

/// What is to be planned.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    pub directive: &'a str,
    pub inputs: &'a Values,
    /// The project's folder.
    pub project: &'a str,
    pub start: &'a Start,
    /// Every hook that is not the directive's own.
    pub hooks: &'a Hooks,
    /// What grants mean.
    pub meaning: &'a Meaning,
}

/// What surrounds a thread's conversation.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub directive: String,
    /// The chain of `extends`, root first, the directive last.
    pub chain: Vec<String>,
    /// The hook that chose what the directive extends.
    pub routed_by: Option<String>,
    /// What became of every hook that could choose.
    pub routes: Vec<Route>,
    /// What those saw, before anything was chosen.
    pub routing_fields: Value,
    /// What the thread may do, as capability strings, expanded.
    pub capabilities: Vec<Grant>,
    /// Whether any of the chain says anything of permissions.
    pub is_permitted: bool,
    /// The riskiest of that, where it calls for anything.
    pub riskiest: Option<Riskiest>,
    /// The directives of the project that have a part in that, by their paths, and what each decides
    /// (`Directive::authority`).
    pub authorities: BTreeMap<String, String>,
    /// Candidates for the system text, in its order.
    pub system: Vec<Piece>,
    /// Candidates for the beginning of the first message, in its order.
    pub opening: Vec<Piece>,
    /// Who says what holds now, for each call.
    pub state: Vec<State>,
    /// How older messages are to be summarised when the window is full.
    pub compaction: Option<Piece>,
    /// What a thread is told that goes on with work of another.
    pub continuation: Option<Piece>,
    /// Every hook, in the order in which they are asked.
    pub hooks: Vec<Hook>,
    /// Hooks that are switched off where they are written.
    pub disabled: Vec<Hook>,
    /// What conditions and placeholders saw.
    pub fields: Value,
    /// How many tools may be told.
    pub preload: Preload,
    /// The tool by which the directive hands back what it promises, if it promises anything.
    pub returns: Option<KnownTool>,
    /// What is wrong and costs nothing so far.
    pub problems: Vec<Problem>,
}

/// Why a thread cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("{why}")]
    Directive { why: Lost },
    #[error("{0}")]
    Chain(#[from] ChainError),
    #[error("`{by}` adds `{id}` to its context, but {why}; fix {file}:{line}, or write optional=\"true\" there")]
    Context { id: String, by: String, why: Lost, file: String, line: u32 },
    #[error("the hook `{hook}` adds `{id}`, but {why}; fix {file}:{line}, or write optional: true there")]
    Hook { hook: String, id: String, why: Lost, file: String, line: u32 },
    #[error("there are {count} hooks, more than {MOST}; remove some from hooks.yaml")]
    TooManyHooks { count: usize },
    #[error("{0}")]
    Hooks(Problem),
    #[error("{0}")]
    Permissions(Problem),
    #[error("levain cannot read the constitution: {why}")]
    Constitution { why: Lost },
}

impl Plan {
    /// What holds now, as the providers of this plan say it.
    #[must_use]
    pub fn state(&self, snapshot: &EnvironmentSnapshot) -> Vec<Piece> {
        self.state.iter().map(|state| state.piece(snapshot)).chain(provider::background(&snapshot.background)).collect()
    }

    /// The tools there are, and the one by which the directive returns.
    #[must_use]
    pub fn tools(&self, known: Vec<KnownTool>) -> Vec<KnownTool> {
        let Some(returns) = &self.returns else { return known };
        let mut tools: Vec<KnownTool> = std::iter::once(returns.clone()).chain(known).collect();
        // It keeps its name, and stands last.
        KnownTool::settle_names(&mut tools);
        tools.rotate_left(1);
        tools
    }

    /// Offers tools in a request of this plan, as [`offer`] does.
    pub fn offer(
        &self,
        assembly: &mut Assembly,
        permissions: &Permissions,
        known: Vec<KnownTool>,
    ) -> (Vec<ToolSpec>, Vec<ToolRef>) {
        offer(assembly, permissions, self.tools(known), &self.preload)
    }

    /// The events that say how to go on and have hooks.
    #[must_use]
    pub fn asks(&self) -> Vec<String> {
        let asked = |event: &&str| self.hooks.iter().any(|hook| hook.event == **event);
        CONTROL_EVENTS.iter().copied().filter(asked).map(str::to_owned).collect()
    }

    /// Ids of what was put before and after the directive, as the log names them: hooks by their own id, context by its
    /// item's.
    #[must_use]
    pub fn injected(&self) -> (Vec<String>, Vec<String>) {
        let named = |kinds: [LayerKind; 2]| {
            let included = self.opening.iter().filter(|piece| piece.is_included() && kinds.contains(&piece.kind));
            included.map(|piece| piece.id.clone()).collect()
        };
        (
            named([LayerKind::HookBefore, LayerKind::ContextBefore]),
            named([LayerKind::ContextAfter, LayerKind::HookAfter]),
        )
    }
}

/// Whether the log names a layer of this kind among the layers of a system text: hooks, the chain and the directive,
/// not what every directive gets.
#[must_use]
pub fn is_told(kind: LayerKind) -> bool {
    matches!(kind, LayerKind::SystemHook | LayerKind::ExtendsSystem | LayerKind::DirectiveSystem)
}

/// Plans a thread's context.
///
/// # Errors
/// [`PlanError`]: something that must be there is not.
pub fn plan(ask: &Ask<'_>, library: &dyn Library) -> Result<Plan, PlanError> {
    let leaf = library.directive(ask.directive).map_err(|why| PlanError::Directive { why })?;
    let count = ask.hooks.too_many.unwrap_or(ask.hooks.hooks.len() + leaf.value.hooks.len());
    if count > MOST {
        return Err(PlanError::TooManyHooks { count });
    }
    if let Some(problem) = Problem::refusal(&ask.hooks.problems) {
        return Err(PlanError::Hooks(problem.clone()));
    }
    let hooks = ask.hooks.with(&leaf.value.hooks);
    let own = leaf.value.extends.as_ref().map(|extends| extends.value.clone());
    let category = leaf.value.category.as_ref().map_or_else(
        || ask.directive.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned()),
        |category| category.value.clone(),
    );
    let body = leaf.value.body.clone();
    let mut facts = Facts {
        start: ask.start,
        directive: ask.directive,
        category: &category,
        body: &body,
        has_extends: own.is_some(),
        inputs: ask.inputs,
        project: ask.project,
        capabilities: &[],
    };
    let routing_fields = facts.fields();
    let routes = routes(&hooks, &routing_fields, ask.inputs, ask.directive);
    let chosen = routes.iter().find(|route| route.fate == Fate::Chose);
    let disabled = ask.hooks.disabled.iter().chain(leaf.value.hooks.iter().filter(|hook| !hook.enabled));
    let disabled: Vec<Hook> = disabled.cloned().collect();
    let chain = chain::follow(Link { id: ask.directive.to_owned(), loaded: leaf }, own.as_deref(), chosen, library)?;
    let permitted = permitted(&chain, ask.meaning).map_err(PlanError::Permissions)?;
    facts.capabilities = &permitted.grants;
    let fields = facts.fields();
    let suppress: Vec<(&Mention, &Link)> =
        chain.iter().flat_map(|link| link.loaded.value.context.suppress.iter().map(move |one| (one, link))).collect();
    let mut planning =
        Planning { ask, library, hooks: &hooks, fields: &fields, chain: &chain, suppress, problems: Vec::new() };
    let (providers, state) = planning.providers()?;
    let Providers { instructions, files } = providers;
    let system = [
        planning.constitution()?,
        instructions,
        planning.hooks("build_system_prompt", Position::Before, LayerKind::SystemHook)?,
        planning.context(|link| &link.loaded.value.context.system, LayerKind::DirectiveSystem)?,
        planning.hooks("build_system_prompt", Position::After, LayerKind::SystemHook)?,
        files,
    ]
    .concat();
    let event = ask.start.event();
    let opening = [
        planning.hooks(event, Position::Before, LayerKind::HookBefore)?,
        planning.context(|link| &link.loaded.value.context.before, LayerKind::ContextBefore)?,
        planning.prompt(),
        planning.context(|link| &link.loaded.value.context.after, LayerKind::ContextAfter)?,
        planning.hooks(event, Position::After, LayerKind::HookAfter)?,
    ]
    .concat();
    planning.tell_useless_suppressions(&system, &opening);
    let (summarises, goes_on) = continuation::named(chain.last(), ask.start, library, &mut planning.problems);
    let compaction = summarises.or_else(|| planning.optional(COMPACTION, "older messages cannot be summarised"));
    let continuation = goes_on.or_else(|| planning.optional(CONTINUATION, PLAIN));
    let returns = planning.returns();
    let mut problems = ask.hooks.problems.clone();
    problems.extend(permitted.problems.into_iter().chain(planning.problems));
    let ids = chain.iter().map(|link| link.id.clone()).collect();
    let own = chain.iter().filter(|link| link.loaded.space == Space::Project);
    let authorities = own.map(|link| (link.loaded.path.clone(), link.loaded.value.authority())).collect();
    Ok(Plan {
        directive: ask.directive.to_owned(),
        chain: ids,
        routed_by: chosen.map(|route| route.hook.clone()),
        routes,
        routing_fields,
        capabilities: permitted.grants,
        is_permitted: permitted.is_declared,
        riskiest: permitted.riskiest,
        authorities,
        system,
        opening,
        state,
        compaction,
        continuation,
        hooks,
        disabled,
        fields,
        preload: Preload::default(),
        returns,
        problems,
    })
}

/// What providers bring to the system text.
struct Providers {
    instructions: Vec<Piece>,
    files: Vec<Piece>,
}

struct Planning<'a> {
    ask: &'a Ask<'a>,
    library: &'a dyn Library,
    hooks: &'a [Hook],
    fields: &'a Value,
    chain: &'a [Link],
    suppress: Vec<(&'a Mention, &'a Link)>,
    problems: Vec<Problem>,
}

impl Planning<'_> {
    /// Which directive leaves out something of one of these names.
    fn suppressor(&self, names: &[&str]) -> Option<Absence> {
        let found = self.suppress.iter().find(|(mention, _)| names.iter().any(|name| is_same(&mention.id, name)))?;
        Some(Absence::Suppressed { by: found.1.id.clone() })
    }

    fn constitution(&self) -> Result<Vec<Piece>, PlanError> {
        let loaded = self.library.knowledge(CONSTITUTION).map_err(|why| PlanError::Constitution { why })?;
        if loaded.value.body.trim().is_empty() {
            let why = Lost::Refused(format!("{} holds no text", loaded.file));
            return Err(PlanError::Constitution { why });
        }
        let origin = loaded.origin(CONSTITUTION, Some(loaded.value.body_lines), None);
        let piece = included(CONSTITUTION, LayerKind::Constitution, origin, loaded.value.body.trim());
        Ok(with_shadows(piece, &loaded))
    }

    /// An item with words for the model that a thread can do without; `cannot` says what happens then.
    fn optional(&mut self, id: &str, cannot: &str) -> Option<Piece> {
        match self.library.knowledge(id) {
            Ok(loaded) => {
                let origin = loaded.origin(id, Some(loaded.value.body_lines), None);
                let piece = included(id, LayerKind::DirectiveSystem, origin, loaded.value.body.trim());
                Some(piece).filter(Piece::is_included)
            }
            Err(Lost::Missing(_)) => None,
            Err(Lost::Refused(why)) => {
                self.problems.push(Problem {
                    file: None,
                    line: None,
                    severity: Severity::Warning,
                    message: format!("{cannot}: {why}"),
                    remedy: "fix the item, or remove it to use the shipped one".to_owned(),
                });
                None
            }
        }
    }

    /// The items that the chain names at one position, root first.
    fn context(&self, position: impl Fn(&Link) -> &Vec<Mention>, kind: LayerKind) -> Result<Vec<Piece>, PlanError> {
        let mut pieces: Vec<Piece> = Vec::new();
        // The files that are there, each with the directive that brought it. What an optional mention could not bring is
        // not there, and whoever needs it finds that out.
        let mut there: Vec<(String, &str)> = Vec::new();
        let depths = (0..u32::try_from(self.chain.len()).unwrap_or(u32::MAX)).rev();
        for (depth, link) in depths.zip(self.chain) {
            let kind = if kind == LayerKind::DirectiveSystem && depth > 0 { LayerKind::ExtendsSystem } else { kind };
            for mention in position(link) {
                let via = Some(Via::Directive { id: link.id.clone(), depth, line: mention.lines.0 });
                let loaded = self.library.knowledge(&mention.id);
                let first = || {
                    let file = &loaded.as_ref().ok()?.file;
                    there.iter().find(|(known, _)| known == file).map(|(_, by)| format!("`{by}`"))
                };
                let first = || first().or_else(|| (mention.id == CONSTITUTION).then(|| "the constitution".to_owned()));
                let absence = self.suppressor(&[&mention.id]);
                let absence = absence.or_else(|| first().map(|of| Absence::Duplicate { of }));
                match (absence, loaded) {
                    (Some(absence), loaded) => {
                        let origin = origin_of(&mention.id, loaded, via);
                        pieces.push(skipped(&mention.id, kind, origin, absence));
                    }
                    (None, Ok(loaded)) => {
                        let origin = loaded.origin(&mention.id, Some(loaded.value.body_lines), via);
                        let piece = included(&mention.id, kind, origin, loaded.value.body.trim());
                        if piece.is_included() {
                            there.push((loaded.file.clone(), &link.id));
                        }
                        pieces.extend(with_shadows(piece, &loaded));
                    }
                    (None, Err(why)) if mention.optional => {
                        let origin = unknown(&mention.id, via);
                        pieces.push(skipped(&mention.id, kind, origin, lost(why)));
                    }
                    (None, Err(why)) => {
                        return Err(PlanError::Context {
                            id: mention.id.clone(),
                            by: link.id.clone(),
                            why,
                            file: link.loaded.file.clone(),
                            line: mention.lines.0,
                        });
                    }
                }
            }
        }
        Ok(pieces)
    }

    /// How the directive returns. A person who reads what it could not do reads `error_detail`.
    fn returns(&self) -> Option<KnownTool> {
        let leaf = self.chain.last()?;
        let outputs = &leaf.loaded.value.outputs;
        let (first, last) = (outputs.first()?.lines.0, outputs.last()?.lines.1);
        let described = |kind: &str, text: &str| match kind {
            // Providers want to know what an array holds.
            "array" => json!({"type": kind, "description": text, "items": {"type": "string"}}),
            "string" | "integer" | "number" | "boolean" | "object" => json!({"type": kind, "description": text}),
            _ => json!({"type": "string", "description": text}),
        };
        let mut properties: Map<String, Value> =
            outputs.iter().map(|output| (output.name.clone(), described(&output.kind, &output.description))).collect();
        for (name, text) in [("status", STATUS), ("error_detail", "Why it cannot be done")] {
            properties.entry(name).or_insert_with(|| described("string", text));
        }
        let required: Vec<&str> = outputs.iter().filter(|one| one.required).map(|one| one.name.as_str()).collect();
        Some(KnownTool {
            item: RETURN.to_owned(),
            aliases: vec!["directive_return".to_owned()],
            origin: leaf.loaded.origin(&leaf.id, Some((first, last)), None),
            absent: None,
            parallel: false,
            confinable: false,
            spec: ToolSpec {
                name: "directive_return".to_owned(),
                description:
                    "Hands back what the directive promises, and ends it. Call it once, when all else is done."
                        .to_owned(),
                schema: json!({"type": "object", "properties": properties, "required": required}),
            },
        })
    }

    /// The directive itself, with its inputs filled in.
    fn prompt(&self) -> Vec<Piece> {
        let Some(leaf) = self.chain.last() else { return Vec::new() };
        let origin = leaf.loaded.origin(&leaf.id, Some(leaf.loaded.value.body_lines), None);
        let text = leaf.loaded.value.prompt(self.ask.inputs);
        let piece = included(&leaf.id, LayerKind::Prompt, origin, &text);
        with_shadows(piece, &leaf.loaded)
    }

    /// What the hooks of one event bring to one position.
    fn hooks(&self, event: &str, position: Position, kind: LayerKind) -> Result<Vec<Piece>, PlanError> {
        let mut pieces = Vec::new();
        for hook in self.hooks.iter().filter(|hook| hook.event == event && hook.position == position) {
            let Action::Calls(calls) = &hook.action else { continue };
            for (number, call) in (1..).zip(calls) {
                let id = if number == 1 { hook.id.clone() } else { format!("{}#{number}", hook.id) };
                pieces.extend(self.hooked(hook, call, &id, kind)?);
            }
        }
        Ok(pieces)
    }

    fn hooked(&self, hook: &Hook, call: &Call, id: &str, kind: LayerKind) -> Result<Vec<Piece>, PlanError> {
        let filling = Filling { fields: self.fields, inputs: self.ask.inputs };
        let item = filling.text(&call.id);
        let via = Some(Via::Hook {
            id: hook.id.clone(),
            event: hook.event.clone(),
            layer: hook.layer.number(),
            file: hook.file.display().to_string(),
            line: hook.lines.0,
        });
        let knowledge = call.kind == Kind::Knowledge && call.primary != Primary::Sign;
        let verdict = judge(&hook.condition, self.fields);
        let absence = match &hook.condition {
            Condition::Broken(message) => Some(Absence::BrokenCondition { message: message.clone() }),
            Condition::Always | Condition::Test(_) | Condition::Any(_) | Condition::All(_) | Condition::Not(_) => {
                let absence = self.suppressor(&[&hook.id, id, &item]);
                absence.or_else(|| (!verdict.holds).then_some(Absence::Condition { saw: verdict.saw }))
            }
        };
        if let Some(absence) = absence {
            let found = if knowledge { self.library.knowledge(&item) } else { Err(Lost::Missing(String::new())) };
            return Ok(vec![skipped(id, kind, origin_of(&item, found, via), absence)]);
        }
        if !knowledge {
            let message = format!("a hook of {} can only add knowledge", hook.event);
            return Ok(vec![skipped(id, kind, unknown(&item, via), Absence::NotRun { message })]);
        }
        match self.library.knowledge(&item) {
            Ok(loaded) => {
                let origin = loaded.origin(&item, Some(loaded.value.body_lines), via);
                let mut text = filling.text(loaded.value.body.trim()).trim().to_owned();
                if hook.wrap && !text.is_empty() {
                    let name = tag(loaded.value.name.as_deref().unwrap_or_default(), &item);
                    text = format!("<{name} id=\"{item}\" type=\"knowledge\">\n{text}\n</{name}>");
                }
                Ok(with_shadows(included(id, kind, origin, &text), &loaded))
            }
            Err(why) if hook.optional => Ok(vec![skipped(id, kind, unknown(&item, via), lost(why))]),
            Err(why) => Err(PlanError::Hook {
                hook: hook.id.clone(),
                id: item,
                why,
                file: hook.file.display().to_string(),
                line: hook.lines.0,
            }),
        }
    }

    /// The context providers the chain asks for, root first, each once.
    fn providers(&self) -> Result<(Providers, Vec<State>), PlanError> {
        let mut found = Providers { instructions: Vec::new(), files: provider::tools(&self.library.tools()) };
        let mut state = Vec::new();
        let mut there: Vec<&str> = Vec::new();
        for link in self.chain {
            for mention in &link.loaded.value.context.providers {
                let name = mention.id.as_str();
                if there.contains(&name) {
                    continue;
                }
                let kind = LayerKind::ContextInstructions;
                if let Some(absence) = self.suppressor(&[name]) {
                    let origin = Origin::Provider { name: name.to_owned() };
                    found.instructions.push(skipped(name, kind, origin, absence));
                    there.push(name);
                    continue;
                }
                let builtin = BuiltInProvider::from_name(name);
                // Another mention may need what an optional one could not bring.
                if builtin.is_some() || !mention.optional || self.library.knowledge(name).is_ok() {
                    there.push(name);
                }
                match builtin {
                    None => self.written(mention, link, &mut found.instructions, &mut state)?,
                    Some(BuiltInProvider::ProjectFiles) => found.files.extend(provider::files(self.library)),
                    Some(BuiltInProvider::Skills) => found.files.push(provider::skills(&self.library.skills())),
                    Some(explains) => {
                        if let Some((instructions, built_in)) = provider::built_in(explains) {
                            let origin = Origin::Provider { name: name.to_owned() };
                            found.instructions.push(included(name, kind, origin, instructions));
                            state.push(built_in);
                        }
                    }
                }
            }
        }
        // What is said of tools, files of the project, the list of skills: whoever asked first.
        found.files.sort_by_key(|piece| piece.kind);
        Ok((found, state))
    }

    /// A provider that somebody wrote as a knowledge item.
    fn written(
        &self,
        mention: &Mention,
        link: &Link,
        instructions: &mut Vec<Piece>,
        state: &mut Vec<State>,
    ) -> Result<(), PlanError> {
        let via = Some(Via::Provider { name: mention.id.clone(), by: link.id.clone() });
        let kind = LayerKind::ContextInstructions;
        let loaded = self.library.knowledge(&mention.id).map_err(|why| match why {
            Lost::Missing(missing) => Lost::Missing(BuiltInProvider::near(&mention.id).unwrap_or(missing)),
            Lost::Refused(_) => why,
        });
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(why) if mention.optional => {
                instructions.push(skipped(&mention.id, kind, unknown(&mention.id, via), lost(why)));
                return Ok(());
            }
            Err(why) => {
                let (id, by) = (mention.id.clone(), link.id.clone());
                return Err(PlanError::Context { id, by, why, file: link.loaded.file.clone(), line: mention.lines.0 });
            }
        };
        let said = |name: &str| loaded.value.metadata.get(name).and_then(Value::as_str).unwrap_or_default().trim();
        let text = if said("instructions").is_empty() { loaded.value.body.trim() } else { said("instructions") };
        let origin = loaded.origin(&mention.id, None, via);
        instructions.extend(with_shadows(included(&mention.id, kind, origin.clone(), text), &loaded));
        match provider::command(&mention.id, (loaded.space, &loaded.path), &loaded.value.metadata) {
            Ok(Some(command)) => state.push(State::asked(origin, command)),
            Ok(None) if said("state").is_empty() => {}
            Ok(None) => state.push(State::written(&mention.id, origin, said("state"))),
            Err(message) => {
                let message = format!("{}: {message}", loaded.file);
                instructions.push(skipped(&mention.id, LayerKind::ContextState, origin, Absence::Refused { message }));
            }
        }
        Ok(())
    }

    /// Suppressing the constitution is refused, and suppressing nothing is probably a slip.
    fn tell_useless_suppressions(&mut self, system: &[Piece], opening: &[Piece]) {
        let used = |id: &str| {
            system.iter().chain(opening).any(|piece| {
                matches!(piece.decision, Decision::Skipped { absence: Absence::Suppressed { .. } }) && names(piece, id)
            })
        };
        for (mention, link) in &self.suppress {
            let (message, severity) = if mention.id == CONSTITUTION {
                (format!("`{}` cannot be suppressed: every request begins with it", mention.id), Severity::Error)
            } else if used(&mention.id) {
                continue;
            } else {
                (format!("there is nothing named `{}` to leave out", mention.id), Severity::Warning)
            };
            let (file, line) = (Path::new(&link.loaded.file), mention.lines.0);
            self.problems.push(Problem::at(file, line, severity, message, "remove the <suppress>"));
        }
    }
}

/// Whether a piece goes by this name: its own, its hook's, or its item's.
fn names(piece: &Piece, name: &str) -> bool {
    let item = if let Origin::Item { id, via, .. } = &piece.origin {
        is_same(id, name) || matches!(via, Some(Via::Hook { id, .. }) if id == name)
    } else {
        false
    };
    is_same(&piece.id, name) || item
}

fn lost(why: Lost) -> Absence {
    match why {
        Lost::Missing(message) => Absence::Missing { message },
        Lost::Refused(message) => Absence::Refused { message },
    }
}

/// The origin of an item nobody could read.
fn unknown(id: &str, via: Option<Via>) -> Origin {
    let (id, path) = (id.to_owned(), String::new());
    Origin::Item { space: Space::Project, bundle: None, id, path, lines: None, signature: None, via }
}

fn origin_of(id: &str, loaded: Result<Loaded<Knowledge>, Lost>, via: Option<Via>) -> Origin {
    match loaded {
        Ok(loaded) => loaded.origin(id, Some(loaded.value.body_lines), via),
        Err(_lost) => unknown(id, via),
    }
}

pub(super) fn included(id: &str, kind: LayerKind, origin: Origin, text: &str) -> Piece {
    if text.is_empty() {
        return skipped(id, kind, origin, Absence::Empty);
    }
    let (id, text) = (id.to_owned(), Arc::from(text));
    Piece { id, kind, origin, lifetime: lifetime(kind), decision: Decision::Included, text }
}

pub(super) fn skipped(id: &str, kind: LayerKind, origin: Origin, absence: Absence) -> Piece {
    let (id, text) = (id.to_owned(), Arc::from(""));
    Piece { id, kind, origin, lifetime: lifetime(kind), decision: Decision::Skipped { absence }, text }
}

/// How often a layer of a kind is made anew.
fn lifetime(kind: LayerKind) -> Lifetime {
    match kind {
        LayerKind::HookBefore
        | LayerKind::ContextBefore
        | LayerKind::Prompt
        | LayerKind::ContextAfter
        | LayerKind::HookAfter
        | LayerKind::Attachment => Lifetime::Once,
        LayerKind::ContextState => Lifetime::PerCall,
        LayerKind::Constitution
        | LayerKind::ContextInstructions
        | LayerKind::SystemHook
        | LayerKind::ExtendsSystem
        | LayerKind::DirectiveSystem
        | LayerKind::ToolSnippets
        | LayerKind::Guidelines
        | LayerKind::AppendSystem
        | LayerKind::ProjectFile
        | LayerKind::Skills
        | LayerKind::DateCwd
        | LayerKind::ExtensionSystem
        | LayerKind::History
        | LayerKind::Summary
        | LayerKind::User
        | LayerKind::NextTurn
        | LayerKind::ExtensionMessage
        | LayerKind::ToolSchema => Lifetime::PerPrompt,
    }
}

/// A piece, and behind it the files that would be read without the one that won.
fn with_shadows<T>(piece: Piece, loaded: &Loaded<T>) -> Vec<Piece> {
    let by = format!("{} {}", place(loaded.space, loaded.bundle.as_deref()), loaded.path);
    let (id, kind) = (piece.id.clone(), piece.kind);
    let item = if let Origin::Item { id, .. } = &piece.origin { id.clone() } else { id.clone() };
    let mut pieces = vec![piece];
    pieces.extend(loaded.shadows.iter().map(|hidden| {
        let Hidden { space, bundle, path } = hidden.clone();
        let origin = Origin::Item { space, bundle, id: item.clone(), path, lines: None, signature: None, via: None };
        skipped(&id, kind, origin, Absence::Shadowed { by: by.clone() })
    }));
    pieces
}

/// Where an item lies: a space, or a further bundle of the system space as in `system:team`.
pub(super) fn place(from: Space, bundle: Option<&str>) -> String {
    bundle.map_or_else(|| from.word().to_owned(), |bundle| format!("{}:{bundle}", from.word()))
}

/// The element's name for a wrapped item: its own name, or the end of its id.
fn tag(name: &str, id: &str) -> String {
    let plain = |text: &str| -> String {
        text.chars()
            .map(|letter| if letter.is_alphanumeric() || matches!(letter, '_' | '-') { letter } else { '_' })
            .collect()
    };
    let last = id.rsplit('/').next().unwrap_or_default();
    let starts = |text: &String| text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
    [plain(name), plain(last)].into_iter().find(starts).unwrap_or_else(|| "context".to_owned())
}
