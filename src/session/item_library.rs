//! Items for plans, read from their files.

use crate::context::{Hidden, Library, Loaded, Lost, ProjectFile, Skill, ToolWords};
use crate::domain::attachment::transcript_of;
use crate::domain::{Problem, Space};
use crate::items::prompt_file::{PromptFile, PromptFiles};
use crate::items::{Directive, Found, Item, Items, Kind, Knowledge, Place, Root};
use crate::store::threads::is_elsewhere;
use crate::store::{Layout, attachment};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Longest project file, in bytes.
const LONGEST: u64 = 1 << 20;
/// Where a text for the end of the system text may stand, below the folder of a space. One of them counts.
const APPENDED: [(Space, &str); 4] = [
    (Space::Project, ".ai/APPEND_SYSTEM.md"),
    (Space::Project, ".pi/APPEND_SYSTEM.md"),
    (Space::User, ".ai/APPEND_SYSTEM.md"),
    (Space::User, ".pi/agent/APPEND_SYSTEM.md"),
];
/// Most skills that are listed.
const MOST_SKILLS: usize = 200;

/// Everything that can be named, as it was when it was listed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ItemLibrary<'a> {
    items: &'a Items,
    /// Where the threads lie whose transcripts are read like items.
    layout: Option<&'a Layout>,
    /// What extensions say of their tools.
    tools: &'a [ToolWords],
}

impl<'a> ItemLibrary<'a> {
    pub(super) fn new(items: &'a Items) -> Self {
        Self { items, layout: None, tools: &[] }
    }

    /// For a thread: with the transcripts of threads, and what extensions say of their tools.
    pub(super) fn of_thread(items: &'a Items, layout: Option<&'a Layout>, tools: &'a [ToolWords]) -> Self {
        Self { items, layout, tools }
    }

    /// The transcript of a thread, as the knowledge item of its id. What is told of it begins with its metadata, so that
    /// nothing said in it is taken for that.
    fn transcript(self, id: &str) -> Option<Result<Loaded<Knowledge>, Lost>> {
        let (layout, thread) = (self.layout?, transcript_of(id)?);
        let path = format!(".ai/agent/threads/{thread}/transcript.jsonl");
        let loaded = |text: String| {
            let entry = format!("```yaml\nname: {thread}\nentry_type: thread_transcript\n```\n\n{text}");
            let (value, _well_formed) = Knowledge::parse(&entry, Path::new("transcript.md"));
            let file = layout.project().join(&path).display().to_string();
            let (space, bundle, signature, shadows) = (Space::Project, None, None, Vec::new());
            Loaded { value, space, bundle, path: path.clone(), file, signature, shadows }
        };
        if is_elsewhere(layout, &thread) {
            let why = format!("the thread {thread} is from elsewhere; `levain threads fork {thread}` makes it yours");
            return Some(Err(Lost::Refused(why)));
        }
        Some(attachment::transcript_of(layout, &thread).map(loaded).map_err(Lost::Missing))
    }

    fn read<T>(self, kind: Kind, id: &str, parse: fn(&str, &Path) -> (T, Vec<Problem>)) -> Result<Loaded<T>, Lost> {
        let Found { item, shadows } =
            self.items.find(kind, id).map_err(|missing| Lost::Missing(missing.to_string()))?;
        let text = self.items.read(item).map_err(|problem| Lost::Refused(format!("{problem}")))?;
        let file = self.items.file(item);
        let verdict = self.items.signature(item, &text).map(|verdict| verdict.word().to_owned());
        let (value, problems) = parse(&text, &file);
        if let Some(problem) = Problem::refusal(&problems) {
            return Err(Lost::Refused(problem.to_string()));
        }
        let bundle = |item: &Item| self.items.root(item).and_then(|root| root.bundle.clone());
        let hidden =
            |item: &Item| Hidden { space: self.items.space(item), bundle: bundle(item), path: item.path.clone() };
        Ok(Loaded {
            value,
            space: self.items.space(item),
            bundle: bundle(item),
            path: item.path.clone(),
            file: file.display().to_string(),
            signature: verdict,
            shadows: shadows.iter().map(hidden).collect(),
        })
    }

    /// The folders of the person and the project.
    fn folders(&self) -> impl Iterator<Item = (&'a Root, &'a Path)> {
        let roots = self.items.roots().iter().rev().filter(|root| root.space != Space::System);
        roots.filter_map(|root| match &root.place {
            Place::Folder(folder) => Some((root, folder.as_path())),
            Place::Embedded => None,
        })
    }
}

impl Library for ItemLibrary<'_> {
    fn directive(&self, id: &str) -> Result<Loaded<Directive>, Lost> {
        self.read(Kind::Directive, id, Directive::parse)
    }

    fn knowledge(&self, id: &str) -> Result<Loaded<Knowledge>, Lost> {
        // A file of that id comes first.
        let is_file = self.items.get(Kind::Knowledge, id).is_some();
        let transcript = if is_file { None } else { self.transcript(id) };
        transcript.unwrap_or_else(|| self.read(Kind::Knowledge, id, Knowledge::parse))
    }

    /// `AGENTS.md`, else `CLAUDE.md`: the person's beside their items, then those of the repository above the project, the
    /// outermost first, then the project's.
    fn files(&self) -> Vec<ProjectFile> {
        let mut found = Vec::new();
        for (root, folder) in self.folders() {
            if root.space == Space::User {
                found.extend(words_of(folder, ".ai/", "", root.space));
                continue;
            }
            let above = above_in_repository(folder);
            let outer = above.iter().enumerate().rev();
            found.extend(outer.filter_map(|(steps, outer)| words_of(outer, "", &"../".repeat(steps + 1), root.space)));
            found.extend(words_of(folder, "", "", root.space));
        }
        found
    }

    /// The first there is: the project's comes before the person's, and what was written for levain before what was for pi.
    fn appended(&self) -> Option<ProjectFile> {
        let folders: Vec<(&Root, &Path)> = self.folders().collect();
        let place = |space| folders.iter().find(|(root, _)| root.space == space);
        APPENDED.into_iter().find_map(|(space, path)| {
            let (_, folder) = place(space)?;
            folder.join(path).symlink_metadata().ok()?;
            Some(ProjectFile { space, path: path.to_owned(), text: read_inside(folder, path) })
        })
    }

    fn tools(&self) -> Vec<ToolWords> {
        self.tools.to_vec()
    }

    /// Those that `/skill:NAME` finds, but for the ones that no model is to be told of.
    fn skills(&self) -> Vec<Skill> {
        let folder = |space| self.folders().find(|(root, _)| root.space == space).map(|(_, folder)| folder);
        let nowhere = Path::new("/dev/null");
        let (project, home) = (folder(Space::Project).unwrap_or(nowhere), folder(Space::User).unwrap_or(nowhere));
        let found = PromptFiles::find(project, home).skills.into_iter().filter(|skill| skill.listed);
        let told = found.take(MOST_SKILLS).map(|PromptFile { name, description, file, space, .. }| {
            let root = if space == Space::Project { project } else { home };
            let path = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
            Skill { name, description, path, space }
        });
        told.collect()
    }
}

/// The file of that kind in `folder`; `told` is how that folder is called from the project's.
fn words_of(folder: &Path, below: &str, told: &str, space: Space) -> Option<ProjectFile> {
    let names = ["AGENTS.md", "CLAUDE.md"].map(|name| format!("{below}{name}"));
    let name = names.into_iter().find(|name| folder.join(name).symlink_metadata().is_ok())?;
    let text = read_inside(folder, &name);
    Some(ProjectFile { space, path: format!("{told}{name}"), text })
}

/// The folders between a project and the root of the repository that it is a part of, which is the last of them; none where it
/// is that root itself, of none, or of one that belongs to somebody else, as git has it, too.
fn above_in_repository(project: &Path) -> Vec<&Path> {
    let owner = |path: &Path| path.symlink_metadata().ok().map(|metadata| metadata.uid());
    let is_root = |folder: &&Path| owner(&folder.join(".git")).is_some_and(|of_git| Some(of_git) == owner(project));
    let Some(depth) = project.ancestors().position(|folder| is_root(&folder)) else { return Vec::new() };
    project.ancestors().skip(1).take(depth).collect()
}

/// The text at `path` below `folder`, which no link may lead out of.
fn read_inside(folder: &Path, path: &str) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("{path} could not be read: {error}");
    let inside = fs::canonicalize(folder).map_err(unreadable)?;
    let real = fs::canonicalize(folder.join(path)).map_err(unreadable)?;
    if !real.starts_with(&inside) {
        return Err(format!("{path} is a link that leads out of the project"));
    }
    if !real.is_file() {
        return Err(format!("{path} is not a file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(real).map_err(unreadable)?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("{path} is longer than one mebibyte"));
    }
    String::from_utf8(bytes).map_err(|_bytes| format!("{path} is not UTF-8 text"))
}
