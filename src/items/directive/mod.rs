//! Directives: a fenced block of metadata in XML, or front matter, and a body that the model follows.
//!
//! [`Directive::parse`] always returns a directive: what could not be read is told as problems and left out. One with a
//! fatal problem can be listed and looked at, and does not start. The body is text and nothing else, whatever it looks
//! like.

mod fields;
mod front;
mod handlers;
mod hooks;
mod limits;
mod metadata;
mod permissions;
mod prompt;
#[cfg(test)]
mod tests;

pub use crate::domain::{BadInput, Input, Values};
pub use fields::Output;
pub use limits::DirectiveLimits;
pub use metadata::{BuiltInProvider, Context, Mention, ModelWish};
pub use permissions::{Acknowledged, Permissions};
pub(in crate::items) use permissions::{is_alias, is_capability};
pub(in crate::items) use prompt::input_name;
pub use prompt::interpolate;

use super::fence::{self, Parts};
use super::handler::Handler;
use super::hook::Hook;
use super::id::{ItemId, is_version};
use super::markup::{self, Attribute, Element, Lines};
use crate::domain::{ContentHash, Problem, Severity, meant, nearest};
use std::fmt::Write as _;
use std::path::Path;

/// A value and the lines it was written on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Located<T> {
    pub value: T,
    pub lines: Lines,
}

/// The element of its metadata that names a directive whose body asks for the summary of older messages.
pub const SUMMARY_DIRECTIVE: &str = "summary_directive";

/// That which names the one whose body is told to a thread that goes on with its work.
pub const CONTINUATION_DIRECTIVE: &str = "continuation_directive";

/// A directive as its file tells it.
#[derive(Clone, Debug, Default)]
pub struct Directive {
    pub name: Option<Located<String>>,
    pub version: Option<Located<String>>,
    /// The directive whose context this one inherits.
    pub extends: Option<Located<String>>,
    pub description: Option<Located<String>>,
    pub category: Option<Located<String>>,
    pub author: Option<Located<String>>,
    /// Metadata without a field of its own, by name.
    pub other: Vec<(String, Located<String>)>,
    pub model: Option<ModelWish>,
    pub limits: DirectiveLimits,
    pub permissions: Permissions,
    pub context: Context,
    pub hooks: Vec<Hook>,
    /// Handlers of the pipeline for its threads; see [`Directive::handlers_in`] for where they lie.
    pub handlers: Vec<Handler>,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    /// Prose before the metadata, for people only.
    pub preamble: String,
    /// The metadata as it was written.
    pub fence: String,
    pub fence_lines: Lines,
    /// What the model follows.
    pub body: String,
    pub body_lines: Lines,
}

impl Directive {
    /// What it decides about what a thread may do and how it goes on, as a hash to compare: what it grants, what it
    /// extends, the risks that it acknowledges, the context providers that are items, its hooks and its handlers. Its words,
    /// and where things stand in the file, do not count.
    #[must_use]
    pub fn authority(&self) -> String {
        /// What counts of a grant, with the words of the first version: a hash of before stays good.
        #[derive(Debug)]
        #[expect(dead_code, reason = "read by Debug")]
        struct Grant<'a> {
            capability: &'a str,
            ask: bool,
            untrusted: bool,
        }
        let grants: Vec<_> = self
            .permissions
            .capabilities
            .iter()
            .map(|Located { value: crate::domain::Grant { capability, ask, untrusted, .. }, .. }| Grant {
                capability,
                ask: *ask,
                untrusted: *untrusted,
            })
            .collect();
        let extends = self.extends.as_ref().map(|extends| &extends.value);
        let hook = |hook: &Hook| {
            format!("{:?}", (&hook.event, hook.position, hook.wrap, hook.optional, &hook.condition, &hook.action))
        };
        let hooks: Vec<String> = self.hooks.iter().filter(|hook| hook.enabled).map(hook).collect();
        let mut said = format!("{:?}", (self.permissions.declared, grants, extends, hooks));
        let sandboxed: Vec<&str> = self
            .permissions
            .capabilities
            .iter()
            .filter(|grant| grant.value.sandbox)
            .map(|grant| grant.value.capability.as_str())
            .collect();
        if !sandboxed.is_empty() {
            // Writing to a text cannot fail.
            let _ok = write!(said, "{sandboxed:?}");
        }
        let known: Vec<&str> = self.permissions.acknowledged.iter().map(|one| one.risk.as_str()).collect();
        if !known.is_empty() {
            // Writing to a text cannot fail.
            let _ok = write!(said, "{known:?}");
        }
        // Items of the person's, which may have something asked.
        let asked: Vec<&str> = self
            .context
            .providers
            .iter()
            .map(|mention| mention.id.as_str())
            .filter(|id| BuiltInProvider::from_name(id).is_none())
            .collect();
        if !asked.is_empty() {
            let _ok = write!(said, "providers {asked:?}");
        }
        let handler = |one: &Handler| format!("{:?}", (one.stage, &one.condition, &one.action, one.timeout));
        let handlers: Vec<String> = self.handlers.iter().map(handler).collect();
        if !handlers.is_empty() {
            // Writing to a text cannot fail.
            let _ok = write!(said, "handlers {handlers:?}");
        }
        ContentHash::of(said.as_bytes()).as_str().to_owned()
    }
}

/// What reading needs to know and where mistakes go.
struct Reading<'a> {
    file: &'a Path,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn warn(&mut self, line: u32, message: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem::at(self.file, line, Severity::Warning, message, remedy));
    }

    fn error(&mut self, line: u32, message: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem::at(self.file, line, Severity::Error, message, remedy));
    }

    /// A mistake for which the directive does not start: see [`Severity::Fatal`].
    fn fatal(&mut self, line: u32, message: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem::at(self.file, line, Severity::Fatal, message, remedy));
    }

    /// Tells of attributes that nobody reads. One that is probably a slip for a known one would have decided something.
    fn attributes(&mut self, element: &Element, known: &[&str]) {
        for Attribute { name, line, .. } in &element.attributes {
            if !known.contains(&name.as_str()) {
                let message = format!("unknown attribute `{name}` in <{}>", element.tag);
                let remedy = meant(name, known.iter().copied());
                if nearest(name, known.iter().copied()).is_some() {
                    self.fatal(*line, message, remedy);
                } else {
                    self.warn(*line, message, remedy);
                }
            }
        }
    }

    /// Tells of text that stands between elements, where it has no effect. With a `<` in it, it may have been meant as an
    /// element.
    fn stray(&mut self, element: &Element) {
        if element.text.is_empty() {
            return;
        }
        let message = format!("text in <{}> has no effect", element.tag);
        if element.text.contains('<') || !matches!(element.tag.as_str(), "directive" | "metadata" | "inputs") {
            self.fatal(element.lines.0, message, "write elements, each beginning with `<` and its name");
        } else {
            self.warn(element.lines.0, message, "remove it, or write it in <description>");
        }
    }

    /// Tells of an element that may have any name, if it is one letter or two off a name that means something: a fatal
    /// mistake where that one decides anything.
    fn slip(&mut self, element: &Element, known: &[&str]) {
        const DESCRIBES: [&str; 3] = ["description", "category", "author"];
        /// Words of their own that are near a name.
        const FREE: [&str; 4] = ["mode", "content", "contents", "contact"];
        if FREE.contains(&element.tag.as_str()) {
            return;
        }
        if let Some(near) = nearest(&element.tag, known.iter().copied()) {
            let (message, remedy) = (format!("<{}> has no effect", element.tag), format!("did you mean <{near}>?"));
            if DESCRIBES.contains(&near) {
                self.warn(element.lines.0, message, remedy);
            } else {
                self.fatal(element.lines.0, message, remedy);
            }
        }
    }
}

impl Directive {
    /// Reads the text of `file`. Problems come in the order of their lines.
    #[must_use]
    pub fn parse(text: &str, file: &Path) -> (Self, Vec<Problem>) {
        let mut reading = Reading { file, problems: Vec::new() };
        let mut directive = Self::default();
        if let Some(parts) = fence::fenced(text, "xml") {
            if !parts.closed {
                reading.fatal(
                    parts.first - 1,
                    "the xml block is never closed",
                    "write ``` on a line of its own behind it",
                );
            }
            directive.place(&parts);
            let root = markup::scan(parts.inside, parts.first, file, &mut reading.problems);
            directive.read_root(&root, parts.first, &mut reading);
        } else if let Some(parts) = fence::front_matter(text) {
            directive.place(&parts);
            let root = front::element(parts.inside, parts.first, &mut reading);
            directive.read(&root, &mut reading);
        } else {
            directive.place(&fence::without(text));
            reading.fatal(
                1,
                "holds no metadata: no XML code block found",
                "write a block that begins with ```xml and holds <directive name=\"…\" version=\"…\">",
            );
        }
        if directive.body.is_empty() && directive.outputs.is_empty() && directive.context.is_empty() {
            reading.warn(
                directive.body_lines.0,
                "has no body, so the model gets no instructions",
                "write what to do behind the block",
            );
        }
        reading.problems.sort_by_key(|problem| problem.line);
        (directive, reading.problems)
    }

    fn place(&mut self, parts: &Parts<'_>) {
        parts.preamble.clone_into(&mut self.preamble);
        parts.inside.clone_into(&mut self.fence);
        let count = u32::try_from(parts.inside.lines().count()).unwrap_or(u32::MAX);
        self.fence_lines = (parts.first, parts.first + count.saturating_sub(1));
        parts.body.clone_into(&mut self.body);
        self.body_lines = parts.body_lines;
    }

    fn read_root(&mut self, root: &Element, first: u32, reading: &mut Reading<'_>) {
        let mut found = root.all("directive");
        match found.next() {
            Some(element) => self.read(element, reading),
            None => reading.fatal(
                first,
                "the xml block holds no <directive>",
                "begin it with <directive name=\"…\" version=\"…\">",
            ),
        }
        if let Some(second) = found.next() {
            reading.warn(
                second.lines.0,
                "a second <directive> in the block; only the first counts",
                "give it a file of its own",
            );
        }
    }

    fn read(&mut self, root: &Element, reading: &mut Reading<'_>) {
        reading.attributes(root, &["name", "version", "extends"]);
        for attribute in &root.attributes {
            let value = Located { value: attribute.value.trim().to_owned(), lines: (attribute.line, attribute.line) };
            match attribute.name.as_str() {
                "name" => self.name = Some(value),
                "version" => self.version = Some(value),
                "extends" => self.extends = Some(value),
                _ => {}
            }
        }
        if self.name.as_ref().is_none_or(|name| name.value.is_empty()) {
            reading.error(
                root.lines.0,
                "the directive has no name",
                "write name=\"…\" in <directive>, the same as the file's",
            );
        }
        if let Some(extends) = self.extends.take_if(|extends| ItemId::parse(&extends.value).is_err()) {
            reading.fatal(
                extends.lines.0,
                format!("`{}` cannot be an id to extend", extends.value),
                "write the id of a directive, such as team/base",
            );
        }
        reading.stray(root);
        for child in &root.children {
            match child.tag.as_str() {
                "metadata" => self.read_metadata(child, reading),
                "inputs" => self.inputs.append(&mut fields::inputs(child, reading)),
                "outputs" => self.outputs.append(&mut fields::outputs(child, reading)),
                "description" => self.description = Some(located(child)),
                "permissions" | "context" | "hooks" | "handlers" | "limits" | "model" => {
                    let tag = &child.tag;
                    reading.fatal(
                        child.lines.0,
                        format!("<{tag}> stands beside <metadata> and has no effect there"),
                        format!("move <{tag}> into <metadata>"),
                    );
                }
                other => {
                    reading.slip(child, &["metadata", "inputs", "outputs", "description"]);
                    self.other.push((other.to_owned(), located(child)));
                }
            }
        }
    }

    /// Whether the directive says what its place says: warnings where it does not.
    #[must_use]
    pub fn compare(&self, id: &ItemId, file: &Path) -> Vec<Problem> {
        let mut reading = Reading { file, problems: Vec::new() };
        if let Some(name) = self.name.as_ref().filter(|name| !name.value.is_empty() && name.value != id.stem()) {
            reading.warn(
                name.lines.0,
                format!("is named `{}`, its file `{}`", name.value, id.stem()),
                "use one name for both; levain uses the file's",
            );
        }
        if let Some(category) =
            self.category.as_ref().filter(|category| category.value.trim_matches('/') != id.category())
        {
            reading.warn(
                category.lines.0,
                format!("says category `{}`, its folder is `{}`", category.value, id.category()),
                "fix the category, or move the file",
            );
        }
        if let Some(version) = self.version.as_ref().filter(|version| !is_version(&version.value)) {
            reading.warn(
                version.lines.0,
                format!("version `{}` is not three numbers", version.value),
                "write it as 1.0.0",
            );
        }
        if self.description.is_none() && !self.fence.is_empty() {
            reading.warn(
                self.fence_lines.0,
                "has no description",
                "say in <description> what it is for: lists show it",
            );
        }
        reading.problems
    }
}

fn located(element: &Element) -> Located<String> {
    Located { value: element.text.clone(), lines: element.lines }
}
