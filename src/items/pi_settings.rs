//! What pi's settings (`settings.json` in its folders) name beside those folders: files by path, and packages that bring
//! some. Read as pi 0.73.1 reads it. Packages are found where pi and npm install them; none is installed here.

use super::regular;
use super::resource_files::{cleaned, found_in, is_markdown, is_package, manifest, skills_in, templates_in};
use crate::domain::{Problem, Severity};
use globset::GlobBuilder;
use ignore::WalkBuilder;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of pi in a project, and the person's own below the home folder.
pub const FOLDER: &str = ".pi";
pub const OWN_FOLDER: &str = ".pi/agent";

const FILE: &str = "settings.json";
/// Folders of packages below that of the settings.
const NPM: &str = "npm";
const GIT: &str = "git";
/// What decides there which extensions run beside those of its own folder, and holds them.
pub const DECIDES: [&str; 3] = [FILE, NPM, GIT];
/// How deep a package is searched for what its patterns mean.
const DEEPEST: usize = 8;
/// The longest settings that are read, in bytes.
const LONGEST: u64 = 1 << 20;
const NO_LIST: &str = "write a list of texts, or remove it";

/// What is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Extensions,
    Skills,
    Templates,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Extensions, Self::Skills, Self::Templates];

    /// Its key, which is also the name of its folder in a package.
    fn key(self) -> &'static str {
        match self {
            Self::Extensions => "extensions",
            Self::Skills => "skills",
            Self::Templates => "prompts",
        }
    }

    /// The files that a path stands for; none where nothing lies there.
    fn files(self, path: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        match self {
            _ if path.is_file() => found.push(path.to_owned()),
            Self::Extensions => found = found_in(path),
            Self::Skills => skills_in(path, 0, &mut found),
            Self::Templates => templates_in(path, 0, &mut found),
        }
        found.retain(|file| self == Self::Extensions || is_markdown(file));
        found
    }
}

/// Files, by what they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    pub extensions: Vec<PathBuf>,
    pub skills: Vec<PathBuf>,
    pub templates: Vec<PathBuf>,
}

impl Resources {
    fn list(&mut self, kind: Kind) -> &mut Vec<PathBuf> {
        match kind {
            Kind::Extensions => &mut self.extensions,
            Kind::Skills => &mut self.skills,
            Kind::Templates => &mut self.templates,
        }
    }

    fn is_empty(&self) -> bool {
        self.extensions.is_empty() && self.skills.is_empty() && self.templates.is_empty()
    }
}

/// A package that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The same for each way to name it: `npm:NAME`, `git:HOST/PATH`, or its folder.
    pub identity: String,
    pub folder: PathBuf,
    pub resources: Resources,
}

/// The settings of one scope.
#[derive(Clone, Debug, Default)]
pub struct PiSettings {
    /// What is named by path.
    pub named: Resources,
    pub packages: Vec<Package>,
    /// Files and folders that decide what runs, or can run.
    pub runnable: Vec<PathBuf>,
    pub problems: Vec<Problem>,
    /// What turns extensions of the folder off and on.
    switches: Patterns,
    /// It is not known which extensions are turned off.
    unreadable: bool,
    base: PathBuf,
}

/// Where the settings of a scope lie, and whose they are.
struct Scope {
    base: PathBuf,
    owner: Owner,
}

/// What settings may name goes by that.
enum Owner {
    /// Nothing outside of its root.
    Project(PathBuf),
    /// `~` stands for their home folder.
    Person { home: PathBuf, beside: PathBuf },
}

impl PiSettings {
    /// Those of the project and of the person, whose `.ai` lies in `home`. A package that both name is left to the person.
    #[must_use]
    pub fn both(project: &Path, home: &Path) -> (Self, Self) {
        let (mut of_project, of_person) = (Self::of_project(project), Self::of_person(home, project));
        of_project.packages.retain(|one| !of_person.packages.iter().any(|known| known.identity == one.identity));
        (of_project, of_person)
    }

    /// Those of the project at `root`. What they name outside of it does not count: nobody is asked whether it may run.
    #[must_use]
    pub fn of_project(root: &Path) -> Self {
        Self::read(&Scope { base: root.join(FOLDER), owner: Owner::Project(root.to_owned()) })
    }

    /// The person's own. What npm installed in `project` is no package of theirs, though its programs are found first there.
    fn of_person(home: &Path, project: &Path) -> Self {
        let owner = Owner::Person { home: home.to_owned(), beside: project.to_owned() };
        Self::read(&Scope { base: home.join(OWN_FOLDER), owner })
    }

    /// Whether an extension that lies in the scope's own folder counts.
    #[must_use]
    pub fn leaves_on(&self, extension: &Path) -> bool {
        !self.unreadable && self.switches.leave_on(extension, &self.base)
    }

    fn read(scope: &Scope) -> Self {
        let file = scope.base.join(FILE);
        let mut settings = Self { base: scope.base.clone(), ..Self::default() };
        let text = match regular::read_text(&file, LONGEST) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return settings;
            }
            Err(error) => return settings.refused(&file, None, &format!("the settings of pi do not read: {error}")),
        };
        let all: Value = match serde_json::from_str(&text) {
            Ok(all) => all,
            Err(error) => {
                let line = u32::try_from(error.line()).ok();
                return settings.refused(&file, line, &format!("the settings of pi do not read: {error}"));
            }
        };
        let line = |key: &str| {
            let quoted = format!("\"{key}\"");
            let before = text.lines().position(|line| line.contains(&quoted));
            before.and_then(|before| u32::try_from(before + 1).ok())
        };
        for kind in Kind::ALL {
            match texts(all.get(kind.key())) {
                Some(entries) => settings.name(kind, &entries, scope, (&file, line(kind.key()))),
                None if kind == Kind::Extensions => {
                    let message = "`extensions` in the settings of pi is no list of texts, and may turn some off";
                    return settings.refused(&file, line("extensions"), message);
                }
                None => settings.problems.push(Problem::at(
                    &file,
                    line(kind.key()),
                    Severity::Error,
                    format!("`{}` in the settings of pi is no list of texts", kind.key()),
                    NO_LIST,
                )),
            }
        }
        let packages = all.get("packages").filter(|packages| !packages.is_null());
        for package in packages.and_then(Value::as_array).into_iter().flatten() {
            if let Err((severity, message, remedy)) = settings.package(package, scope) {
                settings.problems.push(Problem::at(&file, line("packages"), severity, message, remedy));
            }
        }
        if packages.is_some_and(|packages| !packages.is_array()) {
            let message = "`packages` in the settings of pi is no list";
            settings.problems.push(Problem::at(&file, line("packages"), Severity::Error, message, NO_LIST));
        }
        let brings = settings.packages.iter().any(|package| !package.resources.extensions.is_empty());
        if brings || !settings.named.extensions.is_empty() || !settings.switches.is_empty() {
            settings.runnable.push(file);
        }
        settings
    }

    /// Nothing counts, neither what is named nor what lies in the folder.
    fn refused(mut self, file: &Path, line: Option<u32>, message: &str) -> Self {
        let message = format!("{message}; no extension of pi's folder beside it is loaded");
        self.problems.push(Problem::at(file, line, Severity::Error, message, "mend the file"));
        self.unreadable = true;
        Self { named: Resources::default(), packages: Vec::new(), ..self }
    }

    /// Takes what a list names by path.
    fn name(&mut self, kind: Kind, entries: &[String], scope: &Scope, (file, line): (&Path, Option<u32>)) {
        let patterns = Patterns::of(entries);
        for wrong in patterns.wrong() {
            let message = format!("`{wrong}` in the settings of pi is no pattern");
            self.problems.push(Problem::at(file, line, Severity::Error, message, "see docs/extensions.md"));
        }
        for switched in patterns.off.iter().filter(|entry| !scope.base.join(entry).exists()) {
            let message = format!("`-{switched}` in the settings of pi turns nothing off: there is no such file");
            self.problems.push(Problem::at(file, line, Severity::Warning, message, "write its path, or remove it"));
        }
        for entry in entries.iter().filter(|entry| !is_pattern(entry)) {
            let path = scope.path(entry);
            if let Some(message) = scope.refuses(&path) {
                self.problems.push(Problem::at(file, line, Severity::Error, message, "name something in the project"));
                continue;
            }
            let found = kind.files(&path);
            if found.is_empty() {
                let message = format!("`{entry}` in the settings of pi names no {}", kind.key());
                self.problems.push(Problem::at(
                    file,
                    line,
                    Severity::Error,
                    message,
                    "write the path of one, or remove it",
                ));
            }
            let found = found.into_iter().filter(|file| patterns.keep(file, &scope.base));
            let list = self.named.list(kind);
            let before = list.len();
            list.extend(found);
            if kind == Kind::Extensions && list.len() > before {
                self.runnable.push(path);
            }
        }
        if kind == Kind::Extensions {
            self.switches = patterns;
        }
    }

    /// Takes a package.
    fn package(&mut self, entry: &Value, scope: &Scope) -> Result<(), (Severity, String, &'static str)> {
        let wrong = |message: String| (Severity::Error, message, "write a source like npm:NAME, or {source: …}");
        let source = entry.as_str().or_else(|| entry.get("source")?.as_str()).map(str::trim);
        let source = source.ok_or_else(|| wrong("a package in the settings of pi has no source".to_owned()))?;
        let (identity, places) =
            scope.places(source).ok_or_else(|| wrong(format!("`{source}` in the settings of pi is no source")))?;
        let Some(folder) = places.into_iter().find(|folder| folder.exists()) else {
            let message = format!("the package {source}, which the settings of pi name, is not installed");
            return Err((Severity::Warning, message, "pi install installs it"));
        };
        if let Some(message) = scope.refuses(&folder) {
            return Err((Severity::Error, message, "name something in the project"));
        }
        if self.packages.iter().any(|known| known.identity == identity) {
            return Ok(());
        }
        let mut resources = Resources::default();
        for kind in Kind::ALL {
            let filter = match entry.get(kind.key()).filter(|filter| !filter.is_null()) {
                Some(filter) => Some(texts(Some(filter)).ok_or_else(|| {
                    let what = format!("`{}` of the package {source} is no list of texts", kind.key());
                    (Severity::Error, what, NO_LIST)
                })?),
                None => None,
            };
            *resources.list(kind) = of_package(&folder, kind, filter.as_deref(), entry.is_object());
        }
        let is_local = !["npm:", "git:"].iter().any(|of| identity.starts_with(of));
        if resources.is_empty() && entry.is_string() && is_local {
            resources.extensions = Kind::Extensions.files(&folder);
        }
        if !resources.extensions.is_empty() {
            // Packages of npm find others beside themselves.
            let of_npm = identity.starts_with("npm:") && matches!(scope.owner, Owner::Project(_));
            self.runnable.push(if of_npm { scope.base.join(NPM) } else { folder.clone() });
        }
        self.packages.push(Package { identity, folder, resources });
        Ok(())
    }
}

impl Scope {
    fn path(&self, written: &str) -> PathBuf {
        let written = written.trim();
        let below = written.strip_prefix('~').map(|rest| rest.trim_start_matches('/'));
        let path = match (below, &self.owner) {
            (Some(below), Owner::Person { home, .. }) => home.join(below),
            _ => self.base.join(written),
        };
        cleaned(&path)
    }

    /// Folders in which npm installs packages by name.
    fn npm(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.base.join(NPM).join("node_modules")];
        if let Owner::Person { home, beside } = &self.owner {
            let of_project = |root: &PathBuf| root.canonicalize().is_ok_and(|real| real.starts_with(beside));
            roots.extend(global_packages(home).into_iter().filter(|root| root.is_absolute() && !of_project(root)));
        }
        roots
    }

    /// Why something may not be named here.
    fn refuses(&self, path: &Path) -> Option<String> {
        let Owner::Project(within) = &self.owner else { return None };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let lies_inside = path.starts_with(within) && real(path).starts_with(real(within));
        (!lies_inside).then(|| {
            format!("the settings of pi name {}, which is not in the project: nobody is asked about it", path.display())
        })
    }

    /// What a source is, and the folders in which it may be installed.
    fn places(&self, source: &str) -> Option<(String, Vec<PathBuf>)> {
        if let Some(spec) = source.strip_prefix("npm:") {
            let spec = spec.trim();
            // Behind an `@` that is not the first letter stands a version.
            let before = |text: &str| text.split('@').next().unwrap_or_default().to_owned();
            let name = spec.strip_prefix('@').map_or_else(|| before(spec), |scoped| format!("@{}", before(scoped)));
            let is_plain = !name.is_empty() && name.split('/').all(is_plain_name) && name.split('/').count() <= 2;
            return is_plain.then(|| (format!("npm:{name}"), self.npm().iter().map(|root| root.join(&name)).collect()));
        }
        let of_git = ["git:", "https://", "http://", "ssh://", "github:"].iter().any(|start| source.starts_with(start));
        if of_git {
            let (host, path) = repository(source)?;
            let folder = self.base.join(GIT).join(&host).join(&path);
            return Some((format!("git:{host}/{path}"), vec![folder]));
        }
        let path = self.path(source);
        Some((path.display().to_string(), vec![path]))
    }
}

/// The host of a repository and its path there, without how it is reached and which of its states is meant.
fn repository(source: &str) -> Option<(String, String)> {
    let rest = source.strip_prefix("git:").unwrap_or(source);
    let rest = rest.strip_prefix("github:").map_or_else(|| rest.to_owned(), |rest| format!("github.com/{rest}"));
    let rest = rest.split_once("://").map_or(rest.as_str(), |(_, rest)| rest);
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    // As the name of whoever asks: `git@github.com:user/repository`.
    let first = rest.split(['/', ':']).next().unwrap_or_default();
    let user = first.split_once('@').map(|(user, _)| user);
    let rest = user.and_then(|user| rest.strip_prefix(user)?.strip_prefix('@')).unwrap_or(rest);
    let (host, path) = rest.split_once(['/', ':'])?;
    let path = path.split(['@', '#']).next().unwrap_or_default().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let is_plain = is_plain_name(host) && path.contains('/') && path.split('/').all(is_plain_name);
    is_plain.then(|| (host.to_owned(), path.to_owned()))
}

/// Whether it is the name of one file or folder, which leads nowhere else.
fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['\\', '\0'])
}

/// Where npm and bun install for all programs of a person, as far as that is told without running them: beside the programs
/// themselves.
fn global_packages(home: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| folder.join("lib/node_modules");
    let told = ["NPM_CONFIG_PREFIX", "npm_config_prefix"].into_iter().filter_map(std::env::var_os);
    let told = told.map(|prefix| below(Path::new(&prefix)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs =
        std::env::split_paths(&path).filter(|folder| folder.join("npm").exists() || folder.join("node").exists());
    let beside = programs.filter_map(|folder| folder.parent().map(below)).collect::<Vec<_>>();
    let rest = [home.join(".npm-global/lib/node_modules"), home.join(".bun/install/global/node_modules")];
    told.chain(beside).chain(rest).collect()
}

/// The extensions of a folder that is a package of pi: what it would bring where it is installed.
#[must_use]
pub fn extensions_of(folder: &Path) -> Vec<PathBuf> {
    if is_package(folder) { of_package(folder, Kind::Extensions, None, false) } else { Vec::new() }
}

/// What a package brings of a kind: what its `package.json` names, or its folder holds; then what `filter` leaves of it.
/// Where the entry says nothing of any kind (not `is_filtered`), a `package.json` with a `pi` names all there is.
fn of_package(folder: &Path, kind: Kind, filter: Option<&[String]>, is_filtered: bool) -> Vec<PathBuf> {
    let manifest = manifest(folder);
    let said = manifest.as_ref().and_then(|manifest| manifest.get("pi"));
    let listed = said.and_then(|said| texts(Some(said.get(kind.key())?))).filter(|listed| !listed.is_empty());
    let all = match listed {
        Some(listed) => {
            let patterns = Patterns { includes: Vec::new(), ..Patterns::of(&listed) };
            let sources = listed.iter().filter(|entry| !is_switch(entry));
            let paths = sources.flat_map(|entry| {
                if is_pattern(entry) { matching(folder, entry) } else { vec![cleaned(&folder.join(entry))] }
            });
            let files: Vec<PathBuf> = paths.flat_map(|path| kind.files(&path)).collect();
            files.into_iter().filter(|file| patterns.keep(file, folder)).collect()
        }
        None if said.is_some() && !is_filtered => Vec::new(),
        None => kind.files(&folder.join(kind.key())),
    };
    let mut all: Vec<PathBuf> = all;
    all.retain(|file| file.starts_with(folder));
    match filter {
        Some([]) => all.clear(),
        Some(filter) => {
            let patterns = Patterns::of_all(filter);
            all.retain(|file| patterns.keep(file, folder));
        }
        None => {}
    }
    all
}

/// What lies below a folder and is meant by a pattern.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let mut walk = WalkBuilder::new(folder);
    walk.standard_filters(false).hidden(true).max_depth(Some(DEEPEST)).sort_by_file_name(Ord::cmp);
    walk.filter_entry(|entry| entry.file_name() != "node_modules");
    let paths = walk.build().filter_map(Result::ok).map(ignore::DirEntry::into_path);
    paths.filter(|path| path.strip_prefix(folder).is_ok_and(|below| is_match(pattern, below) == Some(true))).collect()
}

/// The entries of a list that say which files count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Patterns {
    includes: Vec<String>,
    excludes: Vec<String>,
    /// Paths that count all the same, and those that never do.
    on: Vec<String>,
    off: Vec<String>,
}

impl Patterns {
    /// Those of a list whose plain entries are paths.
    fn of(entries: &[String]) -> Self {
        Self::of_all(&entries.iter().filter(|entry| is_pattern(entry)).cloned().collect::<Vec<_>>())
    }

    fn of_all(entries: &[String]) -> Self {
        let mut patterns = Self::default();
        for entry in entries {
            let (list, rest) = match entry.split_at_checked(1) {
                Some(("!", rest)) => (&mut patterns.excludes, rest),
                Some(("+", rest)) => (&mut patterns.on, rest),
                Some(("-", rest)) => (&mut patterns.off, rest),
                _ => (&mut patterns.includes, entry.as_str()),
            };
            list.push(rest.to_owned());
        }
        patterns
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Those that are no patterns: what they would leave out is all left out.
    fn wrong(&self) -> impl Iterator<Item = &String> {
        self.includes.iter().chain(&self.excludes).filter(|pattern| is_match(pattern, Path::new("x")).is_none())
    }

    fn keep(&self, file: &Path, base: &Path) -> bool {
        let included = self.includes.is_empty() || self.includes.iter().any(|one| matches(one, file, base, false));
        self.leave_on(file, base) && (included || turned(&self.on, file, base))
    }

    fn leave_on(&self, file: &Path, base: &Path) -> bool {
        let excluded = self.excludes.iter().any(|pattern| matches(pattern, file, base, true));
        (!excluded || turned(&self.on, file, base)) && !turned(&self.off, file, base)
    }
}

/// Whether a list of exact paths has this file, or the folder of this skill.
fn turned(list: &[String], file: &Path, base: &Path) -> bool {
    let skill = file.parent().filter(|_| file.file_name().is_some_and(|name| name == "SKILL.md"));
    let exact = |path: &Path, entry: &String| {
        let entry = Path::new(entry.strip_prefix("./").unwrap_or(entry));
        path == entry || path.strip_prefix(base).is_ok_and(|below| below == entry)
    };
    list.iter().any(|entry| exact(file, entry) || skill.is_some_and(|folder| exact(folder, entry)))
}

/// Whether a pattern means a file: by its path below `base`, its name, or its whole path; of a skill also by its folder.
/// One that is none means it as `otherwise` says.
fn matches(pattern: &str, file: &Path, base: &Path, otherwise: bool) -> bool {
    let skill = file.parent().filter(|_| file.file_name().is_some_and(|name| name == "SKILL.md"));
    [Some(file), skill].into_iter().flatten().any(|path| {
        let below = path.strip_prefix(base).unwrap_or(path);
        let name = Path::new(path.file_name().unwrap_or_default());
        [below, name, path].into_iter().any(|path| is_match(pattern, path).unwrap_or(otherwise))
    })
}

/// None where it is no pattern.
fn is_match(pattern: &str, path: &Path) -> Option<bool> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher().is_match(path))
}

fn is_switch(entry: &str) -> bool {
    entry.starts_with(['!', '+', '-'])
}

fn is_pattern(entry: &str) -> bool {
    is_switch(entry) || entry.contains(['*', '?'])
}

/// A list of texts, nothing being an empty one; none where it is something else.
fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    match value {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(all)) => all.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn below(root: &Path, paths: &[PathBuf]) -> Vec<String> {
        paths.iter().map(|path| path.strip_prefix(root).unwrap_or(path).display().to_string()).collect()
    }

    #[test]
    fn packages_are_found_where_they_are_installed_and_bring_what_they_name() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let settings = r#"{"theme": "dark", "packages": ["npm:@who/all@1.2.0", "git:github.com/who/rules@v1",
            {"source": "./mine", "extensions": ["!*.test.ts"], "skills": []}, "npm:missing", 7, "npm:plain", "./folder"]}"#;
        write(home, ".pi/agent/settings.json", settings);
        let all = ".pi/agent/npm/node_modules/@who/all";
        write(
            home,
            &format!("{all}/package.json"),
            r#"{"pi": {"extensions": ["./src/*.ts", "!src/no.ts"], "skills": ["./skills"]}}"#,
        );
        for file in ["src/a.ts", "src/no.ts", "src/deep/b.ts", "skills/cook/SKILL.md", "prompts/unnamed.md"] {
            write(home, &format!("{all}/{file}"), "");
        }
        let git = ".pi/agent/git/github.com/who/rules";
        for file in ["extensions/r.ts", "prompts/fix.md", "prompts/more/deep.md", "skills/s.txt"] {
            write(home, &format!("{git}/{file}"), "");
        }
        for file in ["extensions/m.ts", "extensions/m.test.ts", "skills/x/SKILL.md"] {
            write(home, &format!(".pi/agent/mine/{file}"), "");
        }
        // A folder may be an extension by itself; what npm installed says what of it is one.
        for file in ["npm/node_modules/plain/dist/index.js", "npm/node_modules/plain/src/index.ts", "folder/index.ts"] {
            write(home, &format!(".pi/agent/{file}"), "");
        }
        let read = PiSettings::both(Path::new("/project"), home).1;
        let told: Vec<_> = read
            .packages
            .iter()
            .map(|package| {
                let Resources { extensions, skills, templates } = &package.resources;
                let below = |paths| below(&package.folder, paths).join(" ");
                (
                    package.identity.replace(&home.display().to_string(), "~"),
                    [below(extensions), below(skills), below(templates)],
                )
            })
            .collect();
        let expected = [
            ("npm:@who/all", ["src/a.ts", "skills/cook/SKILL.md", ""]),
            ("git:github.com/who/rules", ["extensions/r.ts", "", "prompts/fix.md prompts/more/deep.md"]),
            ("~/.pi/agent/mine", ["extensions/m.ts", "", ""]),
            ("npm:plain", ["", "", ""]),
            ("~/.pi/agent/folder", ["index.ts", "", ""]),
        ];
        let expected: Vec<_> =
            expected.iter().map(|(name, lists)| ((*name).to_owned(), lists.map(str::to_owned))).collect();
        assert_eq!(told, expected);
        let problems: Vec<_> = read.problems.iter().map(|one| (one.line, one.severity, one.message.as_str())).collect();
        let missing = "the package npm:missing, which the settings of pi name, is not installed";
        let strange = "a package in the settings of pi has no source";
        assert_eq!(problems, [(Some(1), Severity::Warning, missing), (Some(1), Severity::Error, strange)]);
    }

    #[test]
    fn what_is_turned_off_is_left_out_and_faults_turn_nothing_on() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        for file in ["extensions/a.ts", "extensions/b.ts", "extensions/c.ts", "more/d.ts", "more/e.ts"] {
            write(home, &format!(".pi/agent/{file}"), "");
        }
        let read = |settings: &str| {
            write(home, ".pi/agent/settings.json", settings);
            let read = PiSettings::both(Path::new("/project"), home).1;
            let own = found_in(&home.join(".pi/agent/extensions"));
            let on: Vec<PathBuf> = own.into_iter().filter(|path| read.leaves_on(path)).collect();
            let all = [on, read.named.extensions].concat();
            let names: Vec<_> = all.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
            (names.join(" "), read.problems.len())
        };
        let told = |names: &str, problems| (names.to_owned(), problems);
        assert_eq!(read("{}"), told("a b c", 0));
        assert_eq!(read(r#"{"extensions": ["more", "-extensions/b.ts", "!*/c.ts"]}"#), told("a d e", 0));
        assert_eq!(read(r#"{"extensions": ["~/.pi/agent/more/d.ts", "!*.ts", "+extensions/b.ts"]}"#), told("b", 0));
        // What is no pattern leaves everything out that it could mean.
        assert_eq!(read(r#"{"extensions": ["!extensions/[b.ts", "+extensions/a.ts"]}"#), told("a", 1));
        assert_eq!(read(r#"{"extensions": "-extensions/b.ts"}"#), told("", 1));
        assert_eq!(read(r#"{"extensions": ["more", "#), told("", 1));
        assert_eq!(read(r#"{"skills": 3, "packages": {}}"#), told("a b c", 2));
        // A slip is told.
        assert_eq!(read(r#"{"extensions": ["-extensions/bb.ts", "moore"], "skills": ["none"]}"#), told("a b c", 3));
    }

    #[test]
    fn a_projects_settings_name_nothing_outside_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        write(folder.path(), "outside/e.ts", "");
        write(folder.path(), "outside/package/extensions/e.ts", "");
        write(&root, "tools/e.ts", "");
        std::os::unix::fs::symlink(folder.path().join("outside"), root.join("link")).unwrap();
        let outside = folder.path().join("outside").display().to_string();
        let settings = format!(
            r#"{{"extensions": ["../tools/e.ts", "../../outside/e.ts", "{outside}", "../link/e.ts", "~/e.ts"],
            "packages": ["../../outside/package", "git:../../outside", "npm:../../../outside", "git:host/../../outside"]}}"#
        );
        write(&root, ".pi/settings.json", &settings);
        let read = PiSettings::of_project(&root);
        assert_eq!(below(&root, &read.named.extensions), ["tools/e.ts"]);
        assert_eq!(read.packages, []);
        assert_eq!(below(&root, &read.runnable), ["tools/e.ts", ".pi/settings.json"]);
        assert_eq!(read.problems.len(), 8, "{:#?}", read.problems);
    }

    #[test]
    fn nothing_that_is_no_file_is_waited_for_and_no_manifest_leads_out_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join(".pi")).unwrap();
        let pipe = root.join(".pi/settings.json");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let read = PiSettings::of_project(root);
        assert!(read.problems[0].message.contains("it is not a regular file") && !read.leaves_on(&root.join("e.ts")));
        write(
            root,
            ".pi/extensions/own/package.json",
            r#"{"pi": {"extensions": ["./in/../e.ts", "../../../src/e.ts"]}}"#,
        );
        write(root, ".pi/extensions/own/e.ts", "");
        write(root, "src/e.ts", "");
        assert_eq!(below(root, &found_in(&root.join(".pi/extensions"))), [".pi/extensions/own/e.ts"]);
    }

    #[test]
    fn a_repository_is_the_same_however_it_is_named() {
        for source in [
            "git:github.com/who/what",
            "git:git@github.com:who/what.git@v1",
            "https://github.com/who/what.git",
            "https://me@github.com/who/what@main",
            "ssh://git@github.com/who/what",
            "github:who/what#main",
        ] {
            assert_eq!(repository(source), Some(("github.com".to_owned(), "who/what".to_owned())), "{source}");
        }
        for source in ["git:what", "git:github.com/what", "https://github.com/../x", "git:/a/b", "git:"] {
            assert_eq!(repository(source), None, "{source}");
        }
    }
}
