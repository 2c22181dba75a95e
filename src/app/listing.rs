//! What the screen lists of items and files. Everything here reads files, so it runs off the loop.

use crate::domain::{Problem, Space, ToolSpec};
use crate::items::hook::HookFile;
use crate::items::prompt_file::PromptFiles;
use crate::items::{Directive, Found, Hook, Hooks, Item, Items, Kind, Place, check, regular};
use crate::session::{Setup, built_in};
use crate::workbench::{DirectiveChoice, ItemRow, PromptRow};
use ignore::WalkBuilder;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// As many files are offered behind `@`, and so long they are looked for.
const MOST_FILES: usize = 20_000;
const LONGEST: Duration = Duration::from_secs(3);

/// As much of a text is shown in a preview, in bytes.
const PREVIEW: usize = 64 * 1024;

/// No larger file is read for it, in bytes.
const LARGEST: u64 = 4 << 20;

/// Skills and templates that a prompt can name.
pub(super) fn prompts(setup: &Setup) -> Vec<PromptRow> {
    let found = setup.prompt_files();
    let templates = found.templates.iter().map(|one| {
        let hint = one.hint.as_ref().map(|hint| format!("{hint} · ")).unwrap_or_default();
        PromptRow { word: format!("/{}", one.name), about: format!("{hint}{}", one.description) }
    });
    let skills = found.skills.iter();
    let skills = skills.map(|one| PromptRow { word: format!("/skill:{}", one.name), about: one.description.clone() });
    templates.chain(skills).collect()
}

/// Every directive that can be named, nearest space first.
pub(super) fn directives(setup: &Setup) -> Vec<DirectiveChoice> {
    let items = setup.items();
    let found: Vec<&Item> = items.iter().map(|found| found.item).filter(|item| item.kind == Kind::Directive).collect();
    let mut choices: Vec<_> = found.into_iter().map(|item| (items.space(item), choice(setup, &items, item))).collect();
    choices.sort_by_key(|(space, _)| *space as u8);
    choices.into_iter().map(|(_, choice)| choice).collect()
}

/// One directive, as a new thread of it begins; none where there is none of that id.
#[must_use]
pub fn directive(setup: &Setup, items: &Items, id: &str) -> Option<DirectiveChoice> {
    Some(choice(setup, items, items.get(Kind::Directive, id)?.item))
}

fn choice(setup: &Setup, items: &Items, item: &Item) -> DirectiveChoice {
    let mut choice = DirectiveChoice {
        id: item.id.to_string(),
        space: items.root(item).map(ToString::to_string).unwrap_or_default(),
        ..DirectiveChoice::default()
    };
    let text = match items.read(item) {
        Ok(text) => text,
        Err(problem) => {
            choice.refusal = Some(problem.message);
            return choice;
        }
    };
    let (directive, _told_by_check) = Directive::parse(&text, &items.file(item));
    let description = directive.description.map(|description| description.value).unwrap_or_default();
    choice.description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    choice.inputs = directive.inputs;
    if directive.model.is_some() {
        match setup.choose(items, item.id.as_str()) {
            Ok(chosen) => (choice.model, choice.notice) = (Some(chosen.model), chosen.notice),
            Err(error) => choice.notice = Some(error.to_string()),
        }
    }
    choice
}

/// Every item that can be named, by kind and id.
pub(super) fn items(setup: &Setup) -> Vec<ItemRow> {
    let items = setup.items();
    let mut rows: Vec<ItemRow> = items.iter().map(|found| row(setup, &items, found)).collect();
    rows.extend(built_in(&items).into_iter().map(|tool| ItemRow {
        kind: Kind::Tool.word(),
        id: tool.item,
        space: "system".to_owned(),
        place: "built in".to_owned(),
        ..ItemRow::default()
    }));
    rows.extend(hooks(&items).into_iter().map(|(row, _)| row));
    rows.extend(files_beside(setup));
    rows
}

/// The hooks of the settings files, in the order in which they are asked, and how each is written.
fn hooks(items: &Items) -> Vec<(ItemRow, String)> {
    let (hooks, files) = (Hooks::read(items), HookFile::all(items));
    let row = |hook: &Hook| {
        let file = files.iter().find(|file| file.holds(hook))?;
        let inside = file.root.place == Place::Embedded;
        let off = if hook.enabled { "" } else { " · switched off" };
        let (line, layer) = (hook.lines.0, hook.layer);
        let row = ItemRow {
            kind: "hook",
            id: format!("{} ({})", hook.id, hook.event),
            space: file.root.to_string(),
            place: format!("{}:{line} · layer {layer}{off}", file.path),
            file: (!inside).then(|| hook.file.clone()),
            line: Some(line),
            problems: check::hooks([hook], items, "optional: true"),
            ..ItemRow::default()
        };
        Some((row, file.written(hook)))
    };
    hooks.every().filter_map(row).collect()
}

/// Skills, templates and extensions.
fn files_beside(setup: &Setup) -> Vec<ItemRow> {
    let PromptFiles { skills, templates, .. } = setup.prompt_files();
    let row = |kind, id: String, space: Space, file: PathBuf| ItemRow {
        kind,
        id,
        space: space.word().to_owned(),
        place: file.strip_prefix(&setup.project.root).unwrap_or(&file).display().to_string(),
        file: Some(file),
        ..ItemRow::default()
    };
    let prompt_files = skills.into_iter().map(|one| ("skill", one));
    let prompt_files = prompt_files.chain(templates.into_iter().map(|one| ("template", one)));
    let extensions = setup.extensions().found().into_iter().map(|one| {
        let space = if one.of_project { Space::Project } else { Space::User };
        row("extension", one.name, space, one.path)
    });
    prompt_files.map(|(kind, one)| row(kind, one.name, one.space, one.file)).chain(extensions).collect()
}

/// What a model is told of a built-in tool.
fn tool_text(items: &Items, id: &str) -> Option<String> {
    let tool = built_in(items).into_iter().find(|tool| tool.item == id)?;
    let ToolSpec { name, description, schema } = tool.spec;
    Some(format!("{description}\n\nCalled {name}, with:\n\n{schema:#}\n"))
}

fn row(setup: &Setup, items: &Items, Found { item, shadows }: Found<'_>) -> ItemRow {
    let (signature, problems) = match items.look(item) {
        Ok(text) => (items.signature(item, &text).map(|verdict| verdict.word()), check::looked(items, item, &text)),
        Err(problem) => (None, vec![problem]),
    };
    let space = |item: &Item| items.root(item).map(ToString::to_string).unwrap_or_default();
    let told = items.file(item);
    let inside = items.root(item).is_none_or(|root| root.place == Place::Embedded);
    let root = &setup.project.root;
    ItemRow {
        kind: item.kind.word(),
        id: item.id.to_string(),
        space: space(item),
        place: told.strip_prefix(root).unwrap_or(&told).display().to_string(),
        file: (!inside).then(|| told.clone()),
        line: None,
        shadows: shadows.iter().map(space).collect(),
        signature,
        problems,
        directive: (item.kind == Kind::Directive).then(|| choice(setup, items, item)),
    }
}

/// The beginning of an item's text.
pub(super) fn text(setup: &Setup, kind: &str, id: &str) -> Result<String, String> {
    let Some(kind) = Kind::ALL.into_iter().find(|known| known.word() == kind) else {
        return text_beside(setup, kind, id);
    };
    let items = Items::list_kinds(&setup.spaces, &[kind]);
    if let Some(text) = (kind == Kind::Tool).then(|| tool_text(&items, id)).flatten() {
        return Ok(text);
    }
    let found = items.find(kind, id).map_err(|missing| missing.to_string())?;
    let text = items.look(found.item).map_err(|Problem { message, .. }| message)?;
    Ok(begun(&text))
}

/// The beginning of what is no item.
fn text_beside(setup: &Setup, kind: &str, id: &str) -> Result<String, String> {
    let gone = || format!("the {kind} `{id}` is not there any more");
    if kind == "hook" {
        // Two files may have hooks of one name.
        let named = hooks(&setup.items()).into_iter().filter(|(row, _)| row.id == id);
        let texts: Vec<String> = named.map(|(row, text)| format!("# {}\n{text}", row.place)).collect();
        return if texts.is_empty() { Err(gone()) } else { Ok(begun(&texts.join("\n\n"))) };
    }
    let row = files_beside(setup).into_iter().find(|row| row.kind == kind && row.id == id).ok_or_else(gone)?;
    let file = row.file.ok_or_else(gone)?;
    regular::read_text(&file, LARGEST).map(|text| begun(&text)).map_err(|error| error.to_string())
}

/// As much of a text as is shown.
fn begun(text: &str) -> String {
    let end = text.floor_char_boundary(PREVIEW);
    let shown = text.get(..end).unwrap_or_default();
    if end < text.len() { format!("{shown}\n…") } else { shown.to_owned() }
}

/// Files and folders of the project by their paths from `root`, those of folders with `/` behind them, without what its
/// ignore files leave out and without our own records.
pub(super) fn files(root: &Path) -> Vec<String> {
    let begun = Instant::now();
    let own = [root.join(".ai/agent"), root.join(".ai/objects")];
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(move |entry| entry.file_name() != ".git" && !own.iter().any(|own| own == entry.path()))
        .build();
    let mut files = Vec::new();
    for entry in walk.take_while(|_| begun.elapsed() < LONGEST).filter_map(Result::ok) {
        let ending = match entry.file_type() {
            Some(kind) if kind.is_file() => "",
            Some(kind) if kind.is_dir() => "/",
            Some(_) | None => continue,
        };
        let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str).filter(|path| !path.is_empty());
        // A draft takes no control letters, so such a name could not stand in it.
        if let Some(path) = path.filter(|path| !path.chars().any(char::is_control)) {
            files.push(format!("{path}{ending}"));
            if files.len() == MOST_FILES {
                break;
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_are_those_that_the_project_does_not_ignore() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".gitignore", "target/\n*.log\n");
        for path in [
            "src/漢字 main.rs",
            "src/a.log",
            "target/x",
            ".ai/directives/a.md",
            ".ai/agent/threads/t/thread.json",
            ".ai/objects/ab",
            ".git/HEAD",
            "bad\u{1b}name",
        ] {
            write(path, "");
        }
        assert_eq!(
            files(folder.path()),
            [".ai/", ".ai/directives/", ".ai/directives/a.md", ".gitignore", "src/", "src/漢字 main.rs"]
        );
    }
}
