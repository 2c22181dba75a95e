//! What `<metadata>` says: descriptions, the model that is wished for, and the context to bring along.

use super::{Directive, Located, Reading, located};
use crate::domain::{meant, nearest};
use crate::items::id::ItemId;
use crate::items::markup::{Element, Lines};

/// The model a directive asks for. Nothing here is a promise: the person's own choice goes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelWish {
    /// `fast`, `general`, `high`, `max`, or the older `orchestrator` and `reasoning`.
    pub tier: Option<String>,
    pub id: Option<String>,
    pub provider: Option<String>,
    /// The tier to use when the first cannot be had.
    pub fallback: Option<String>,
    pub lines: Lines,
}

/// A knowledge item that is mentioned, and whether the directive can do without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub id: String,
    pub optional: bool,
    pub lines: Lines,
}

/// The context providers that are part of the program; any other name is a knowledge item's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInProvider {
    Time,
    Project,
    Memory,
    Persona,
    Todo,
    ProjectFiles,
    Skills,
}

impl BuiltInProvider {
    pub const ALL: [Self; 7] =
        [Self::Time, Self::Project, Self::Memory, Self::Persona, Self::Todo, Self::ProjectFiles, Self::Skills];

    /// As directives name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Project => "project",
            Self::Memory => "memory",
            Self::Persona => "persona",
            Self::Todo => "todo",
            Self::ProjectFiles => "project_files",
            Self::Skills => "skills",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// What to say of `name`, which nothing has, where one of these was probably meant.
    #[must_use]
    pub fn near(name: &str) -> Option<String> {
        let near = nearest(name, Self::ALL.map(Self::name))?;
        Some(format!("there is no context provider `{name}` (did you mean `{near}`?)"))
    }
}

/// Knowledge to bring along, in the order written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Into the system text.
    pub system: Vec<Mention>,
    /// Before the directive's prompt.
    pub before: Vec<Mention>,
    /// After it.
    pub after: Vec<Mention>,
    /// Inherited items to leave out.
    pub suppress: Vec<Mention>,
    /// Context providers to bring along: their instructions, and what they say of now.
    pub providers: Vec<Mention>,
}

impl Context {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        [&self.system, &self.before, &self.after, &self.suppress, &self.providers].iter().all(|list| list.is_empty())
    }

    /// Everything that is to be brought along.
    pub fn wanted(&self) -> impl Iterator<Item = &Mention> {
        self.system.iter().chain(&self.before).chain(&self.after)
    }
}

/// What means something in `<metadata>`. Anything else is kept, and may have any name.
const KNOWN: [&str; 9] =
    ["description", "category", "author", "model", "limits", "permissions", "context", "hooks", "handlers"];

impl Directive {
    pub(super) fn read_metadata(&mut self, metadata: &Element, reading: &mut Reading<'_>) {
        reading.stray(metadata);
        for child in &metadata.children {
            match child.tag.as_str() {
                "description" => drop(self.description.get_or_insert_with(|| located(child))),
                "category" => self.category = Some(located(child)),
                "author" => self.author = Some(located(child)),
                "model" | "model_class" => {
                    if self.model.is_some() {
                        reading.fatal(child.lines.0, "a second <model>", "remove one of them");
                    }
                    self.model = Some(model(child, reading));
                }
                "limits" => self.limits.read(child, reading),
                "permissions" => self.permissions.read(child, reading),
                "context" => self.context.read(child, reading),
                "hooks" => {
                    reading.stray(child);
                    self.hooks.extend(child.children.iter().filter_map(|hook| super::hooks::hook(hook, reading)));
                }
                "handlers" => super::handlers::read(child, &mut self.handlers, reading),
                "cost" => reading.warn(child.lines.0, "<cost> has no effect", "write <limits> instead"),
                other => {
                    reading.slip(child, &KNOWN);
                    self.other.push((other.to_owned(), Located { value: child.text.clone(), lines: child.lines }));
                }
            }
        }
    }
}

fn model(element: &Element, reading: &mut Reading<'_>) -> ModelWish {
    let mut wish = ModelWish { lines: element.lines, ..ModelWish::default() };
    for attribute in &element.attributes {
        let value = Some(attribute.value.trim().to_owned()).filter(|value| !value.is_empty());
        match attribute.name.as_str() {
            "tier" => wish.tier = value,
            "id" => wish.id = value,
            "provider" => wish.provider = value,
            "fallback" => wish.fallback = value,
            // Read by nobody, ever; old files have them.
            "fallback_id" | "parallel" => {}
            other => {
                let message = format!("unknown attribute `{other}` in <model>");
                let known = ["tier", "id", "provider", "fallback"];
                let remedy = meant(other, known);
                if nearest(other, known).is_some() {
                    reading.fatal(attribute.line, message, remedy);
                } else {
                    reading.warn(attribute.line, message, remedy);
                }
            }
        }
    }
    if wish.tier.is_none() && wish.id.is_none() {
        // `<model>fast</model>`, as older files have it.
        if element.text.is_empty() {
            reading.fatal(
                element.lines.0,
                "<model> names no model",
                "write tier=\"general\", or id=\"…\" and provider=\"…\"",
            );
        } else {
            wish.tier = Some(element.text.clone());
        }
    }
    wish
}

impl Context {
    fn read(&mut self, element: &Element, reading: &mut Reading<'_>) {
        reading.stray(element);
        for child in &element.children {
            let list = match child.tag.as_str() {
                "system" => &mut self.system,
                "before" => &mut self.before,
                "after" => &mut self.after,
                "suppress" => &mut self.suppress,
                "provider" => &mut self.providers,
                other => {
                    let message = format!("<{other}> in <context> has no effect");
                    let known = ["system", "before", "after", "suppress", "provider"];
                    reading.fatal(child.lines.0, message, meant(other, known));
                    continue;
                }
            };
            let id = child.text.trim();
            if ItemId::parse(id).is_err() {
                let message = if id.is_empty() {
                    format!("<{}> names nothing", child.tag)
                } else {
                    format!("`{id}` cannot be an id")
                };
                reading.fatal(child.lines.0, message, "write the id of a knowledge item, such as team/rules");
                continue;
            }
            // In front matter an entry with attributes names itself by one.
            let named = child.attribute("id").is_some_and(|named| named.trim() == id);
            reading.attributes(child, if named { &["optional", "id"] } else { &["optional"] });
            let optional = super::fields::truth("optional", child, reading);
            list.push(Mention { id: id.to_owned(), optional, lines: child.lines });
        }
    }
}
