//! Whether a person trusts a project to run things: once, and by the content of what can run.
//!
//! What can run is every file below a few folders of the project's `.ai`: tools, settings (hooks among them, and keys
//! that are believed), context, extensions (those in `.pi` and what pi's settings name, too), parsers, prompts that MCP servers are asked for; knowledge whose metadata holds a command,
//! the commands of handlers that directives bring, and the project's own files that such a command names. The record lies among the person's own files, one for each project. When any of
//! those files changes, the project is not trusted any more until the person looked again.

use super::Dirs;
use super::authority::Authorities;
use crate::domain::{ContentHash, Space};
use crate::items::handler::{Action, Handlers};
use crate::items::pi_settings::{self, PiSettings};
use crate::items::provider_query::QueryTarget;
use crate::items::{self, Directive, Items, Kind, Knowledge, Spaces};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

/// Folders below `.ai` whose files can run, or decide what runs.
pub const FOLDERS: [&str; 6] = ["tools", "config", "context", "extensions", "parsers", "prompts/mcp"];

/// Extensions that were written for pi, beside `.ai`; with them goes what pi's settings name.
const OF_PI: &str = "../.pi/extensions";

/// The project's own settings, below `config`; they are made of plain words and can run nothing.
const PLAIN: &str = "config/levain.toml";

/// More than this is not looked through, and so not trusted.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 256 << 20;

/// Where a project stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// There is nothing that could run.
    Nothing,
    /// The person trusted exactly this.
    Trusted(Runnable),
    /// The person has not been asked.
    Unknown(Runnable),
    /// The person trusted it before something changed: what, in words, as far as the record tells.
    Changed(Runnable, Vec<String>),
    /// It cannot be looked through.
    Unreadable { reason: String },
}

/// What can run in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runnable {
    /// Paths below `.ai`, in the order of the look; `../` leads to a file that a command names outside of it.
    pub files: Vec<String>,
    /// One hash over names and contents of all of them.
    pub hash: String,
    /// What each of them is: the hash of its content, and where it leads if it is a link.
    states: BTreeMap<String, String>,
    /// Knowledge that holds a command, by its path below the project, and the command where it is one; commands of
    /// directives' handlers by path and line.
    pub commands: BTreeMap<String, Vec<String>>,
    /// The commands of the pipeline's handlers.
    pub handlers: BTreeSet<Vec<String>>,
}

/// The record of a decision.
#[derive(Debug, Serialize, Deserialize)]
struct Decision {
    project: PathBuf,
    hash: String,
    /// As in [`Runnable`], to name what has changed; records of before have none.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// What its directives decided then.
    #[serde(default)]
    directives: Authorities,
}

/// What the directives of the project at `root` decided when the person trusted it; `None` if they never did.
pub(super) fn directives(dirs: &Dirs, root: &Path) -> Option<Authorities> {
    decision(dirs, root).filter(|decision| decision.project == root).map(|decision| decision.directives)
}

/// The path in the project of a file that is known by its path from `.ai`.
#[must_use]
pub fn shown(file: &str) -> String {
    file.strip_prefix("../").map_or_else(|| format!(".ai/{file}"), str::to_owned)
}

impl Trust {
    /// How far the project at `root` is trusted. Reads every file that can run.
    #[must_use]
    pub fn of(dirs: &Dirs, root: &Path) -> Self {
        match Runnable::of(root) {
            Ok(None) => Self::Nothing,
            Err(error) => Self::Unreadable { reason: error.to_string() },
            Ok(Some(runnable)) => match decision(dirs, root) {
                Some(decision) if decision.project == root && decision.hash == runnable.hash => Self::Trusted(runnable),
                Some(decision) if decision.project == root => {
                    let differs = runnable.differs(&decision.files);
                    Self::Changed(runnable, differs)
                }
                Some(_) | None => Self::Unknown(runnable),
            },
        }
    }

    /// Whether the project's own hooks, commands, tools and extensions may run.
    #[must_use]
    pub fn allows(&self) -> bool {
        match self {
            Self::Nothing | Self::Trusted(_) => true,
            Self::Unknown(_) | Self::Changed(..) | Self::Unreadable { .. } => false,
        }
    }

    /// The file of the person's decision on the project at `root`, whether it is there or not.
    #[must_use]
    pub fn record(dirs: &Dirs, root: &Path) -> PathBuf {
        let name = ContentHash::of(root.as_os_str().as_encoded_bytes());
        dirs.config.join("trusted").join(format!("{}.toml", name.as_str().get(..16).unwrap_or_default()))
    }

    /// Whether the person ever said that they trust the project at `root`, whatever has changed there since.
    #[must_use]
    pub fn is_given(dirs: &Dirs, root: &Path) -> bool {
        decision(dirs, root).is_some_and(|decision| decision.project == root)
    }

    /// Whether `command` may run, which a context provider was read to hold in `file`, a path below the project: the
    /// person trusts the project, and what they trusted is this file with this command. What was not looked at is not run.
    #[must_use]
    pub fn covers(&self, file: &str, command: &[String]) -> bool {
        matches!(self, Self::Trusted(runnable) if runnable.commands.get(file).is_some_and(|known| known == command))
    }

    /// Whether the command of a handler of the pipeline may run: as [`Trust::covers`], for that very command.
    #[must_use]
    pub fn covers_handler(&self, command: &[String]) -> bool {
        matches!(self, Self::Trusted(runnable) if runnable.handlers.contains(command))
    }

    /// Whether the file that a word of a command names below `root` is one that the person trusts.
    #[must_use]
    pub fn covers_file(&self, word: &str) -> bool {
        let below = word.strip_prefix(".ai/").map_or_else(|| format!("../{word}"), str::to_owned);
        matches!(self, Self::Trusted(runnable) if runnable.files.contains(&below))
    }

    /// What to tell the person after these files changed; `None` when none of them decides what runs.
    #[must_use]
    pub fn warning_after(&self, root: &Path, changed: &BTreeSet<PathBuf>) -> Option<String> {
        let inside = root.join(".ai");
        let below = |folder: &str| {
            let folder = folder.strip_prefix("../").map_or_else(|| inside.join(folder), |beside| root.join(beside));
            changed.iter().any(|path| path.starts_with(&folder))
        };
        let item = match self {
            Self::Nothing | Self::Trusted(_) => return None,
            Self::Unknown(runnable) => runnable.files.iter().any(|file| changed.contains(&inside.join(file))),
            // A command that is gone is a change too, and is listed no more.
            Self::Changed(_, differs) => {
                let directive = differs.iter().any(|one| one.starts_with(".ai/directives/"));
                below(Kind::Knowledge.folder()) || (directive && below(Kind::Directive.folder()))
            }
            Self::Unreadable { .. } => below(Kind::Knowledge.folder()),
        };
        let of_pi = || pi_settings::DECIDES.iter().any(|name| below(&format!("../{}/{name}", pi_settings::FOLDER)));
        (item || of_pi() || FOLDERS.into_iter().chain([OF_PI]).any(below)).then(|| self.warning()).flatten()
    }

    /// What to tell the person: why nothing of the project runs, and what to do. `None` when it may.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let (Self::Unknown(runnable) | Self::Changed(runnable, _)) = self else {
            let Self::Unreadable { reason } = self else { return None };
            return Some(format!("tools and commands of this project do not run: {reason}"));
        };
        let what = match runnable.files.as_slice() {
            [only] => shown(only),
            files => format!("{} files below .ai", files.len()),
        };
        let differs: &[String] = if let Self::Changed(_, differs) = self { differs } else { &[] };
        let why = match differs {
            [only] => format!("{only} since you trusted this project"),
            [first, more @ ..] => format!("{first}, and {} more, since you trusted this project", more.len()),
            [] if matches!(self, Self::Changed(..)) => format!("{what} changed since you trusted this project"),
            [] => format!("{what} can run code, and you have not trusted this project"),
        };
        Some(format!("{why}: its tools and commands do not run. Review (levain trust --show), then run: levain trust"))
    }

    /// Remembers that the person trusts the project with what can run and what its directives decide, as these were shown
    /// to them.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn grant(dirs: &Dirs, root: &Path, runnable: &Runnable, directives: &Authorities) -> io::Result<PathBuf> {
        let path = Trust::record(dirs, root);
        let folder = dirs.config.join("trusted");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let (project, hash) = (root.to_owned(), runnable.hash.clone());
        let directives = directives.clone();
        let decision = Decision { project, hash, files: runnable.states.clone(), directives };
        let text = toml::to_string(&decision).map_err(io::Error::other)?;
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(path)
    }

    /// Forgets the decision; false when there was none.
    ///
    /// # Errors
    /// When the record is there and stays.
    pub fn revoke(dirs: &Dirs, root: &Path) -> io::Result<bool> {
        match fs::remove_file(Trust::record(dirs, root)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn decision(dirs: &Dirs, root: &Path) -> Option<Decision> {
    toml::from_str(&fs::read_to_string(Trust::record(dirs, root)).ok()?).ok()
}

impl Runnable {
    /// Nothing at all.
    #[must_use]
    pub fn nothing() -> Self {
        let hash = ContentHash::of(b"").as_str().to_owned();
        Self { files: Vec::new(), hash, states: BTreeMap::new(), commands: BTreeMap::new(), handlers: BTreeSet::new() }
    }

    /// What is different from files that were trusted, in words (one that is gone, or holds no command any more, can run
    /// no more); nothing where it is not known what those were.
    fn differs(&self, trusted: &BTreeMap<String, String>) -> Vec<String> {
        if trusted.is_empty() {
            return Vec::new();
        }
        let now = self.states.iter().filter_map(|(file, state)| match trusted.get(file) {
            None => Some(format!("{} is new", shown(file))),
            Some(before) => (before != state).then(|| format!("{} changed", shown(file))),
        });
        let gone = trusted.keys().filter(|file| !self.states.contains_key(*file));
        now.chain(gone.map(|file| format!("{} can no longer run", shown(file)))).collect()
    }

    /// What can run in the project at `root`; `None` when nothing can.
    ///
    /// # Errors
    /// When something does not read, or when there is too much of it.
    pub fn of(root: &Path) -> io::Result<Option<Self>> {
        let inside = root.join(".ai");
        let (states, commands, handlers) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let mut look = Look { inside, files: Vec::new(), said: String::new(), bytes: 0, states, commands, handlers };
        for folder in FOLDERS.into_iter().chain([OF_PI]) {
            look.folder(folder)?;
        }
        look.of_pi(root)?;
        let items = Items::list_kinds(&Spaces::new(root, root, []), &[Kind::Knowledge, Kind::Directive]);
        look.commands(root, &items)?;
        look.handlers(root, &items)?;
        let hash = ContentHash::of(look.said.as_bytes()).as_str().to_owned();
        let Look { files, states, commands, handlers, .. } = look;
        Ok((!files.is_empty()).then_some(Self { files, hash, states, commands, handlers }))
    }
}

/// One look through the folders.
struct Look {
    /// The project's `.ai`.
    inside: PathBuf,
    files: Vec<String>,
    /// A line for each file: what it is, the hash of its content, its name.
    said: String,
    bytes: u64,
    states: BTreeMap<String, String>,
    commands: BTreeMap<String, Vec<String>>,
    handlers: BTreeSet<Vec<String>>,
}

impl Look {
    /// Where a path below `.ai` leads; beside it also where there is no `.ai`.
    fn at(&self, below: &str) -> PathBuf {
        match (below.strip_prefix("../"), self.inside.parent()) {
            (Some(beside), Some(root)) => root.join(beside),
            (Some(_), None) | (None, _) => self.inside.join(below),
        }
    }

    fn folder(&mut self, below: &str) -> io::Result<()> {
        let path = self.at(below);
        let meta = match fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(());
            }
            Err(error) => return Err(told(&path, &error)),
        };
        if meta.is_dir() { self.entries(below) } else { self.entry(below, &path) }
    }

    /// What pi's settings name, and these.
    fn of_pi(&mut self, root: &Path) -> io::Result<()> {
        for path in PiSettings::of_project(root).runnable {
            let Ok(below) = path.strip_prefix(root) else { continue };
            let below = below.strip_prefix(".ai").map_or_else(|_| Path::new("..").join(below), Path::to_owned);
            let below = below.to_string_lossy().into_owned();
            // Another may name a folder around it.
            let known = |folder: &str| below == folder || below.starts_with(&format!("{folder}/"));
            if !FOLDERS.into_iter().chain([OF_PI]).any(known) && !self.files.contains(&below) {
                self.folder(&below)?;
            }
        }
        Ok(())
    }

    /// Knowledge whose metadata holds a command, found and read as whoever plans a context finds and reads it, and what
    /// its command names. What another file hides counts too: the project may lose that one.
    fn commands(&mut self, root: &Path, items: &Items) -> io::Result<()> {
        for item in self.of_project(items, Kind::Knowledge, &QueryTarget::KEYS)? {
            // What does not read now is nobody's command now.
            let Ok(text) = items.look(item) else { continue };
            self.count(text.len() as u64)?;
            let (knowledge, _told_elsewhere) = Knowledge::parse(&text, &items.file(item));
            let Some(target) = QueryTarget::of(&knowledge.metadata) else { continue };
            let words = target.words();
            self.entry(item.path.strip_prefix(".ai/").unwrap_or(&item.path), &root.join(&item.path))?;
            self.words(root, &words)?;
            self.commands.insert(item.path.clone(), words);
        }
        Ok(())
    }

    /// Items of the project in which one of these keys may stand, those that another file hides as well. All are looked at
    /// whenever a command is about to run, and most need no more than that. With a backslash a key may be spelled in any way;
    /// what cannot be read here, or is long, is for whoever reads items to judge.
    fn of_project<'a>(&mut self, items: &'a Items, kind: Kind, keys: &[&str]) -> io::Result<Vec<&'a items::Item>> {
        const LONG: u64 = 64 << 10;
        let all = items.iter().flat_map(|found| std::iter::once(found.item).chain(found.shadows));
        let mut found = Vec::new();
        for item in all.filter(|item| item.kind == kind && items.space(item) == Space::Project) {
            let file = items.file(item);
            let is_short = fs::metadata(&file).is_ok_and(|meta| meta.is_file() && meta.len() <= LONG);
            match is_short.then(|| fs::read_to_string(&file)) {
                Some(Ok(text)) if !text.contains('\\') && !keys.iter().any(|key| text.contains(key)) => {
                    self.count(text.len() as u64)?;
                }
                Some(_) | None => found.push(item),
            }
        }
        Ok(found)
    }

    /// What the commands of the pipeline's handlers name.
    fn handlers(&mut self, root: &Path, items: &Items) -> io::Result<()> {
        for handler in Handlers::read(items).handlers {
            if let Action::Command(words) = handler.action {
                self.words(root, &words)?;
                self.handlers.insert(words);
            }
        }
        self.directives(root, items)
    }

    /// The commands of handlers that directives bring, and what these name. What else a directive says runs nothing, so it
    /// does not count here.
    fn directives(&mut self, root: &Path, items: &Items) -> io::Result<()> {
        for item in self.of_project(items, Kind::Directive, &["handlers"])? {
            let Ok(text) = items.look(item) else { continue };
            self.count(text.len() as u64)?;
            let handlers = Directive::parse(&text, &items.file(item)).0.handlers.into_iter();
            let command = |(line, action)| if let Action::Command(words) = action { Some((line, words)) } else { None };
            let commands: Vec<_> = handlers.filter_map(|one| command((one.line, one.action))).collect();
            if commands.is_empty() {
                continue;
            }
            let below = item.path.strip_prefix(".ai/").unwrap_or(&item.path);
            let said: Vec<_> = commands.iter().map(|(_, words)| words).collect();
            let hash = ContentHash::of(format!("{said:?}").as_bytes());
            self.said.extend([hash.as_str(), " commands of ", &format!("{below:?}"), "\n"]);
            self.states.insert(below.to_owned(), hash.as_str().to_owned());
            self.files.push(below.to_owned());
            for (line, words) in commands {
                self.words(root, &words)?;
                self.commands.insert(format!("{}:{line}", item.path), words.clone());
                self.handlers.insert(words);
            }
        }
        Ok(())
    }

    /// The files of the project that a command names.
    fn words(&mut self, root: &Path, words: &[String]) -> io::Result<()> {
        // A file may also stand inside of a word: `sh -c "sh scripts/x.sh"`.
        let read: Vec<String> = words.iter().map(|word| without_written(word)).collect();
        let parts = read
            .iter()
            .flat_map(|word| word.split(|letter: char| letter.is_whitespace() || ";&|()<>'\"`$={}".contains(letter)));
        for word in words.iter().map(String::as_str).chain(parts).filter(|word| !word.is_empty()) {
            self.named(root, word)?;
        }
        Ok(())
    }

    /// A word of a command that is a file of the project.
    fn named(&mut self, root: &Path, word: &str) -> io::Result<()> {
        let path = root.join(word);
        let lies_inside =
            path.starts_with(root) && !Path::new(word).components().any(|part| part == Component::ParentDir);
        let leads_inside = || {
            fs::canonicalize(&path).is_ok_and(|real| fs::canonicalize(root).is_ok_and(|root| real.starts_with(root)))
        };
        if !path.is_file() || !(lies_inside || leads_inside()) {
            return Ok(());
        }
        let told = path.strip_prefix(root).unwrap_or(&path);
        let inside =
            told.strip_prefix(".ai").ok().filter(|inside| inside.components().all(|part| part != Component::ParentDir));
        let below = inside.map_or_else(|| format!("../{}", told.display()), |inside| inside.display().to_string());
        if self.files.contains(&below) { Ok(()) } else { self.entry(&below, &path) }
    }

    fn entries(&mut self, below: &str) -> io::Result<()> {
        let path = self.at(below);
        let entries: io::Result<Vec<_>> = fs::read_dir(&path).and_then(Iterator::collect);
        let mut entries = entries.map_err(|error| told(&path, &error))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let below = format!("{below}/{}", name.to_string_lossy());
            let kind = entry.file_type().map_err(|error| told(&entry.path(), &error))?;
            if kind.is_dir() {
                self.entries(&below)?;
            } else if below != PLAIN && !is_of_an_editor(&entry) {
                self.entry(&below, &entry.path())?;
            }
        }
        Ok(())
    }

    /// A file, or a link. Where a link leads counts, and so does what is there.
    fn entry(&mut self, below: &str, path: &Path) -> io::Result<()> {
        if self.files.len() >= MOST_FILES {
            return Err(io::Error::other(format!("there are more than {MOST_FILES} files below .ai")));
        }
        let meta = fs::symlink_metadata(path).map_err(|error| told(path, &error))?;
        let link =
            if meta.is_symlink() { fs::read_link(path).map_err(|error| told(path, &error))? } else { PathBuf::new() };
        // A folder behind a link would have to be looked through too, wherever it lies.
        let real = fs::metadata(path).ok();
        if meta.is_symlink() && real.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(io::Error::other(format!("{} is a link to a folder", path.display())));
        }
        let content = match real.filter(fs::Metadata::is_file) {
            Some(_) => self.read(path)?,
            None => Vec::new(),
        };
        let hash = ContentHash::of(&content);
        let link = link.to_string_lossy();
        self.said.extend([hash.as_str(), " ", &format!("{link:?} {below:?}"), "\n"]);
        let leads = if link.is_empty() { String::new() } else { format!(" {link}") };
        self.states.insert(below.to_owned(), format!("{}{leads}", hash.as_str()));
        self.files.push(below.to_owned());
        Ok(())
    }

    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let left = MOST_BYTES.saturating_sub(self.bytes);
        let file = fs::File::open(path).map_err(|error| told(path, &error))?;
        file.take(left + 1).read_to_end(&mut bytes).map_err(|error| told(path, &error))?;
        self.count(bytes.len() as u64)?;
        Ok(bytes)
    }

    fn count(&mut self, bytes: u64) -> io::Result<()> {
        self.bytes += bytes;
        if self.bytes > MOST_BYTES {
            return Err(io::Error::other("the files below .ai are too large to check"));
        }
        Ok(())
    }
}

/// Whether an editor made this file beside one that is open in it, and takes it away again: vim's swap file, by its name
/// and by how it begins, which no interpreter reads; and the lock of Emacs, a link to a place that is none.
fn is_of_an_editor(entry: &fs::DirEntry) -> bool {
    const SWAP: &[u8] = b"b0VIM ";
    let name = entry.file_name();
    let name = name.to_string_lossy();
    let Some(kind) = entry.file_type().ok().filter(|_| name.starts_with('.')) else { return false };
    if kind.is_symlink() {
        return name.starts_with(".#") && fs::metadata(entry.path()).is_err();
    }
    let swap = name.rsplit_once(".sw").is_some_and(|(_, last)| last.len() == 1);
    let begins = |path| {
        let mut start = [0; 32];
        fs::File::open(path).and_then(|mut file| file.read_exact(&mut start).map(|()| start))
    };
    // Its version ends with a zero, long before a first line could.
    swap && kind.is_file() && begins(entry.path()).is_ok_and(|start| start.starts_with(SWAP) && start.contains(&0))
}

fn told(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} could not be read: {error}", path.display()))
}

/// A line of a shell without the files that it redirects into: those are written, and decide nothing. A name in which the shell
/// would replace anything stays.
fn without_written(line: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/+@%,".contains(letter);
    let mut rest = line;
    let mut kept = String::new();
    while let Some((before, behind)) = rest.split_once('>') {
        kept.push_str(before);
        kept.push('>');
        // `<>` reads as well.
        if before.ends_with('<') {
            rest = behind;
            continue;
        }
        let behind = behind.trim_start_matches(['>', '|', '&']).trim_start_matches([' ', '\t']);
        let after = behind.trim_start_matches(is_plain);
        // What goes on with something else is no whole name.
        let whole = after.chars().next().is_none_or(|next| next.is_whitespace() || ";&|()<>".contains(next));
        rest = if whole { after } else { behind };
    }
    kept + rest
}

#[cfg(test)]
mod tests;
