//! Skills and prompt templates: texts that a person puts into a prompt by their name, `/skill:NAME` and `/NAME`.
//!
//! A skill is a folder with a `SKILL.md`; a template is a Markdown file. Both begin with metadata between two lines `---`.
//! A prompt of an MCP server is a template, too, whose text the server has ([`server_prompt`](super::server_prompt)).
//! The grammar of a template's arguments is that of pi, in one pass over the text: what is put in is not looked at again.

use super::pi_settings::{PiSettings, Resources};
use super::resource_files::{entries, is_markdown, skills_in};
use super::server_prompt::ServerPrompt;
use crate::domain::{Space, nearest};
use serde_json::Map;
use serde_yaml::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Most that are found of each.
const MOST: usize = 500;

/// A skill or a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptFile {
    pub name: String,
    pub description: String,
    /// What a person may write behind a template's name, for its completion.
    pub hint: Option<String>,
    pub file: PathBuf,
    pub space: Space,
    /// Whether the model is told of it.
    pub listed: bool,
    /// The prompt of an MCP server that it is; none where the file holds the text.
    pub asks: Option<ServerPrompt>,
}

impl PromptFile {
    /// What a model may read of a skill: its folder, where it has one to itself.
    #[must_use]
    pub fn readable(&self) -> PathBuf {
        let own = self.file.file_name().is_some_and(|name| name == "SKILL.md");
        self.file.parent().filter(|_| own).unwrap_or(&self.file).to_owned()
    }
}

/// What stands for the name of a skill or a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Expanded<'a> {
    Skill(&'a PromptFile, String),
    Template(&'a PromptFile, String),
    /// A server has its text, and is to be asked with these arguments.
    Asks(&'a PromptFile, &'a ServerPrompt, Map<String, serde_json::Value>),
}

/// Why nothing stands for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpandError {
    /// The file cannot be read.
    Unread(String),
    /// What was written does not fit the prompt of a server, or there is none of that name.
    Unfit(String),
}

/// What there is, and what is wrong with the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptFiles {
    pub skills: Vec<PromptFile>,
    pub templates: Vec<PromptFile>,
    pub problems: Vec<String>,
}

/// Files and folders of skills and templates that somebody names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    pub skills: Vec<PathBuf>,
    pub templates: Vec<PathBuf>,
}

/// Folders of skills below a project and below a person's home, the first winning.
const SKILLS: [&str; 4] = [".ai/skills", ".pi/skills", ".agents/skills", ".claude/skills"];
const PERSONAL_SKILLS: [&str; 4] = [".ai/skills", ".pi/agent/skills", ".agents/skills", ".claude/skills"];
/// The same of templates.
const TEMPLATES: [&str; 3] = [".ai/prompts", ".pi/prompts", ".claude/commands"];
const PERSONAL_TEMPLATES: [&str; 3] = [".ai/prompts", ".pi/agent/prompts", ".claude/commands"];
/// Prompts of MCP servers, in a folder for each server; and how the names of such templates begin.
const OF_SERVERS: &str = ".ai/prompts/mcp";
const SERVER_PREFIX: &str = "mcp/";

impl PromptFiles {
    /// Looks for skills and templates: those of the project hide those of the person. `home` is the folder that holds the
    /// person's own `.ai`.
    #[must_use]
    pub fn find(project: &Path, home: &Path) -> Self {
        let mut all = Self::default();
        let places = |own: &[&'static str], personal: &[&'static str]| {
            let own = own.iter().map(|place| (project, *place, Space::Project)).collect::<Vec<_>>();
            own.into_iter().chain(personal.iter().map(|place| (home, *place, Space::User))).collect::<Vec<_>>()
        };
        let mut seen = BTreeSet::new();
        let (of_project, own) = PiSettings::both(project, home);
        let scopes = [(of_project, Some(project), Space::Project), (own, None, Space::User)];
        for (settings, root, space) in &scopes {
            all.take(&settings.named, *root, *space, &mut seen);
        }
        for (root, place, space) in places(&SKILLS, &PERSONAL_SKILLS) {
            let mut files = Vec::new();
            skills_in(&root.join(place), 0, &mut files);
            for file in files.into_iter().filter(|file| all.lies_inside(root, file)).collect::<Vec<_>>() {
                all.skill(&file, space, &mut seen);
            }
        }
        for (root, place, space) in places(&TEMPLATES, &PERSONAL_TEMPLATES) {
            let files = entries(&root.join(place)).into_iter().filter(|path| is_markdown(path) && path.is_file());
            for file in files.filter(|file| all.lies_inside(root, file)).collect::<Vec<_>>() {
                all.template(&file, space, &mut seen);
            }
        }
        for (settings, root, space) in &scopes {
            settings.packages.iter().for_each(|package| all.take(&package.resources, *root, *space, &mut seen));
        }
        for (root, space) in [(project, Space::Project), (home, Space::User)] {
            let folders = entries(&root.join(OF_SERVERS)).into_iter().filter(|path| path.is_dir());
            for file in folders.flat_map(|folder| entries(&folder)).filter(|path| is_yaml(path) && path.is_file()) {
                if all.lies_inside(root, &file) {
                    all.server_prompt(&file, space, &mut seen);
                }
            }
        }
        all
    }

    /// The same with files and folders that somebody names, behind those that were found.
    #[must_use]
    pub fn with(mut self, named: &Named) -> Self {
        let mut seen = BTreeSet::new();
        for path in &named.skills {
            let mut files = vec![path.clone()];
            if path.is_dir() {
                files.clear();
                skills_in(path, 0, &mut files);
            }
            for file in files {
                self.skill(&file, Space::Project, &mut seen);
            }
        }
        for path in &named.templates {
            let files = if path.is_dir() { entries(path) } else { vec![path.clone()] };
            for file in files.into_iter().filter(|path| is_markdown(path) && path.is_file()) {
                self.template(&file, Space::Project, &mut seen);
            }
        }
        self
    }

    /// Takes what pi's settings name, of a project only what lies inside of it.
    fn take(&mut self, named: &Resources, root: Option<&Path>, space: Space, seen: &mut BTreeSet<PathBuf>) {
        for file in &named.skills {
            if root.is_none_or(|root| self.lies_inside(root, file)) {
                self.skill(file, space, seen);
            }
        }
        for file in &named.templates {
            if root.is_none_or(|root| self.lies_inside(root, file)) {
                self.template(file, space, seen);
            }
        }
    }

    /// Whether no link leads a file out of where it was found; told where one does.
    fn lies_inside(&mut self, root: &Path, file: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().ok();
        let inside = real(file).zip(real(root)).is_some_and(|(file, root)| file.starts_with(root));
        if !inside {
            self.problems.push(format!("{} is a link that leads out of its folder", file.display()));
        }
        inside
    }

    fn skill(&mut self, file: &Path, space: Space, seen: &mut BTreeSet<PathBuf>) {
        if !seen.insert(file.canonicalize().unwrap_or_else(|_| file.to_owned())) {
            return;
        }
        let shown = file.display();
        let text = match read(file) {
            Ok(text) => text,
            Err(why) => return self.problems.push(format!("{shown}: {why}")),
        };
        let (head, _) = split(&text);
        let is_folder = file.file_name().is_some_and(|name| name == "SKILL.md");
        let parent = file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let stem = file.file_stem().map(|name| name.to_string_lossy().into_owned());
        let usual = if is_folder { parent } else { stem }.unwrap_or_default();
        let field = |name: &str| head.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        let name = field("name").unwrap_or(&usual).to_owned();
        let Some(description) = field("description").map(str::to_owned) else {
            return self.problems.push(format!("{shown}: the skill has no description, so it is not loaded"));
        };
        let well_named = !name.is_empty()
            && name.len() <= 64
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !name.starts_with('-')
            && !name.ends_with('-')
            && !name.contains("--");
        if !well_named {
            self.problems.push(format!("{shown}: `{name}` should be made of a-z, 0-9 and single hyphens, at most 64"));
        }
        if description.len() > 1_024 {
            self.problems.push(format!("{shown}: the description is longer than 1024 characters"));
        }
        if let Some(first) = self.skills.iter().find(|known| known.name == name) {
            let first = first.file.display();
            return self.problems.push(format!("{shown}: the skill `{name}` is {first} already"));
        }
        if self.skills.len() < MOST {
            let listed = head.get("disable-model-invocation").and_then(Value::as_bool) != Some(true);
            let (hint, file, asks) = (None, file.to_owned(), None);
            self.skills.push(PromptFile { name, description, hint, file, space, listed, asks });
        }
    }

    fn template(&mut self, file: &Path, space: Space, seen: &mut BTreeSet<PathBuf>) {
        if !seen.insert(file.canonicalize().unwrap_or_else(|_| file.to_owned())) {
            return;
        }
        let text = match read(file) {
            Ok(text) => text,
            Err(why) => return self.problems.push(format!("{}: {why}", file.display())),
        };
        let (head, body) = split(&text);
        let field = |name: &str| head.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if self.templates.iter().any(|known| known.name == name) || self.templates.len() >= MOST {
            return;
        }
        let first = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let short = || {
            let cut: String = first.chars().take(60).collect();
            if cut.len() < first.len() { format!("{cut}...") } else { cut }
        };
        let description = field("description").map_or_else(short, str::to_owned);
        let hint = field("argument-hint").map(str::to_owned);
        let file = file.to_owned();
        self.templates.push(PromptFile { name, description, hint, file, space, listed: false, asks: None });
    }

    /// A prompt of a server, in the folder of that server.
    fn server_prompt(&mut self, file: &Path, space: Space, seen: &mut BTreeSet<PathBuf>) {
        if !seen.insert(file.canonicalize().unwrap_or_else(|_| file.to_owned())) {
            return;
        }
        let (folder, stem) = (file.parent().and_then(Path::file_name), file.file_stem());
        let (Some(folder), Some(stem)) = (folder, stem) else { return };
        let name = format!("{SERVER_PREFIX}{}/{}", folder.to_string_lossy(), stem.to_string_lossy());
        if self.templates.iter().any(|known| known.name == name) || self.templates.len() >= MOST {
            return;
        }
        match read(file).and_then(|text| ServerPrompt::read(&text)) {
            Ok((about, asks)) => {
                let description = about.split_whitespace().collect::<Vec<_>>().join(" ");
                let (hint, file, asks) = (asks.hint(), file.to_owned(), Some(asks));
                self.templates.push(PromptFile { name, description, hint, file, space, listed: false, asks });
            }
            Err(why) => self.problems.push(format!("{}: {why}", file.display())),
        }
    }

    /// What stands for `/skill:NAME …` or `/NAME …`; none where it names neither.
    ///
    /// # Errors
    /// [`ExpandError`]
    pub fn expand(&self, text: &str) -> Result<Option<Expanded<'_>>, ExpandError> {
        let Some(rest) = text.strip_prefix('/') else { return Ok(None) };
        // A skill's name ends at a space; a template's at any white space.
        if let Some(rest) = rest.strip_prefix("skill:") {
            let (name, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
            let Some(skill) = self.skills.iter().find(|skill| skill.name == name) else { return Ok(None) };
            return Ok(Some(Expanded::Skill(skill, skill_text(skill, arguments).map_err(ExpandError::Unread)?)));
        }
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let Some(template) = self.templates.iter().find(|template| template.name == name) else {
            return self.unknown_of_server(name).map_or(Ok(None), |why| Err(ExpandError::Unfit(why)));
        };
        if let Some(asks) = &template.asks {
            let values = asks.values(&format!("/{name}"), &arguments_of(arguments)).map_err(ExpandError::Unfit)?;
            return Ok(Some(Expanded::Asks(template, asks, values)));
        }
        let unread = |why| ExpandError::Unread(format!("{}: {why}", template.file.display()));
        let file = read(&template.file).map_err(unread)?;
        let (_, body) = split(&file);
        Ok(Some(Expanded::Template(template, fill(body, &arguments_of(arguments)))))
    }

    /// What to say of the name of a prompt that a known server does not have; none where it names no known server.
    fn unknown_of_server(&self, name: &str) -> Option<String> {
        let (server, prompt) = name.strip_prefix(SERVER_PREFIX)?.split_once('/')?;
        let folder = format!("{SERVER_PREFIX}{server}/");
        let known: Vec<&str> = self.templates.iter().filter_map(|one| one.name.strip_prefix(&folder)).collect();
        if known.is_empty() || prompt.is_empty() || prompt.contains('/') {
            return None;
        }
        let near = nearest(prompt, known.iter().copied()).map(|near| format!(" (did you mean /{folder}{near}?)"));
        let near = near.unwrap_or_default();
        Some(format!(
            "the MCP server {server} has no prompt `{prompt}`{near}; levain mcp refresh {server} asks for new ones"
        ))
    }
}

/// What a skill is in a prompt.
fn skill_text(skill: &PromptFile, arguments: &str) -> Result<String, String> {
    let text = read(&skill.file).map_err(|why| format!("{}: {why}", skill.file.display()))?;
    let (_, body) = split(&text);
    let (file, folder) = (skill.file.display(), skill.file.parent().unwrap_or(&skill.file).display());
    let mut told = format!(
        "<skill name=\"{}\" location=\"{file}\">\nReferences are relative to {folder}.\n\n{}\n</skill>",
        skill.name,
        body.trim()
    );
    if !arguments.trim().is_empty() {
        let _never_fails = write!(told, "\n\n{}", arguments.trim());
    }
    Ok(told)
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml")
}

fn read(file: &Path) -> Result<String, String> {
    let opened = fs::File::open(file).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    opened.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LONGEST {
        return Err("is longer than one mebibyte".to_owned());
    }
    String::from_utf8(bytes).map_err(|_error| "is not UTF-8".to_owned())
}

/// The metadata between a first line `---` and the next, and the text behind it.
fn split(text: &str) -> (Value, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = 0;
    let mut lines = text.split_inclusive('\n');
    let is_rule = |line: &str| line.trim_end() == "---";
    let Some(first) = lines.next().filter(|line| is_rule(line)) else { return (Value::Null, text) };
    at += first.len();
    let begins = at;
    for line in lines {
        if is_rule(line) {
            let head = serde_yaml::from_str(text.get(begins..at).unwrap_or_default()).unwrap_or(Value::Null);
            return (head, text.get(at + line.len()..).unwrap_or_default());
        }
        at += line.len();
    }
    (Value::Null, text)
}

/// The arguments: split at spaces and tabs, joined by quotes of either kind; an empty quoted one vanishes.
fn arguments_of(text: &str) -> Vec<String> {
    let (mut all, mut one, mut quote) = (Vec::new(), String::new(), None);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, ' ' | '\t') => {
                if !one.is_empty() {
                    all.push(std::mem::take(&mut one));
                }
            }
            (_, letter) => one.push(letter),
        }
    }
    if !one.is_empty() {
        all.push(one);
    }
    all
}

/// Puts arguments in the places of `$1`, `$@`, `$ARGUMENTS`, `${@:2}` and `${@:2:1}`.
fn fill(text: &str, arguments: &[String]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, place) = rest.split_at(at);
        filled.push_str(before);
        let (value, taken) = placeholder(place, arguments);
        filled.push_str(&value);
        rest = place.get(taken..).unwrap_or_default();
    }
    filled.push_str(rest);
    filled
}

/// What stands for the placeholder with which `text` begins, and its length; the `$` itself where it is none.
fn placeholder(text: &str, arguments: &[String]) -> (String, usize) {
    let after = text.get(1..).unwrap_or_default();
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let number: usize = after.get(..digits).and_then(|digits| digits.parse().ok()).unwrap_or(usize::MAX);
        let value = number.checked_sub(1).and_then(|place| arguments.get(place)).cloned().unwrap_or_default();
        return (value, 1 + digits);
    }
    if after.starts_with('@') {
        return (arguments.join(" "), 2);
    }
    if after.starts_with("ARGUMENTS") {
        return (arguments.join(" "), 1 + "ARGUMENTS".len());
    }
    if let Some(inner) = after.strip_prefix("{@:")
        && let Some(end) = inner.find('}')
    {
        let inside = inner.get(..end).unwrap_or_default();
        let (from, count) = inside.split_once(':').map_or((inside, None), |(from, count)| (from, Some(count)));
        let number = |text: &str| text.parse::<usize>().ok();
        if let (Some(from), Some(count)) = (number(from), count.map_or(Some(usize::MAX), number)) {
            let taken = arguments.iter().skip(from.max(1) - 1).take(count).cloned().collect::<Vec<_>>();
            return (taken.join(" "), "${@:".len() + end + 1);
        }
    }
    ("$".to_owned(), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_skill_is_put_in_as_a_block_with_its_arguments_behind() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), ".ai/skills/cook/SKILL.md", "---\nname: cook\ndescription: Makes soup\n---\n\nBoil.\n\n");
        write(folder.path(), ".pi/skills/cook/SKILL.md", "---\ndescription: other\n---\nFry.");
        write(folder.path(), ".claude/skills/deep/er/bake/SKILL.md", "---\ndescription: Bakes\n---\nBake.");
        write(
            folder.path(),
            ".ai/skills/quick.md",
            "---\ndescription: Quick\ndisable-model-invocation: true\n---\nGo.",
        );
        write(folder.path(), ".ai/skills/nothing/SKILL.md", "no head");
        let found = PromptFiles::find(folder.path(), &folder.path().join("home"));
        let names: Vec<_> = found.skills.iter().map(|skill| (skill.name.as_str(), skill.listed)).collect();
        assert_eq!(names, [("cook", true), ("quick", false), ("bake", true)]);
        assert_eq!(found.problems.len(), 2, "{:?}", found.problems);
        let Some(Expanded::Skill(skill, text)) = found.expand("/skill:cook  a  soup ").unwrap() else { panic!() };
        let file = folder.path().join(".ai/skills/cook");
        assert_eq!(skill.name, "cook");
        let shown = file.display();
        assert_eq!(
            text,
            format!(
                "<skill name=\"cook\" location=\"{shown}/SKILL.md\">\nReferences are relative to {shown}.\n\nBoil.\n</skill>\n\na  soup"
            )
        );
        assert_eq!(found.expand("/skill:cok").unwrap(), None);
        assert_eq!(found.expand("skill:cook").unwrap(), None);
        assert_eq!(found.expand("/skill:cook\tx").unwrap(), None, "only a space ends its name");
    }

    #[test]
    fn a_template_is_filled_in_one_pass() {
        let filled = |text: &str, arguments: &str| fill(text, &arguments_of(arguments));
        for (text, arguments, expected) in [
            ("$1 and $2", "a b", "a and b"),
            ("$3|$0|$12", "a b", "||"),
            ("all: $@", "a 'b c' \"d\"", "all: a b c d"),
            ("$ARGUMENTS", "x y", "x y"),
            ("${@:2} ${@:1:1} ${@:0:1}", "a b c", "b c a a"),
            ("${@:x} $ $x $$1", "a", "${@:x} $ $x $a"),
            ("$1", "$@", "$@"),
            ("$@", "$& $1", "$& $1"),
            ("$1", "''", ""),
            ("$1", "a\nb", "a\nb"),
        ] {
            assert_eq!(filled(text, arguments), expected, "{text} with {arguments}");
        }
    }

    #[test]
    fn templates_have_names_descriptions_and_hints() {
        let folder = tempfile::tempdir().unwrap();
        let long = "x".repeat(80);
        write(folder.path(), ".ai/prompts/fix.md", "---\ndescription: Fixes\nargument-hint: ISSUE\n---\nFix #$1 now.");
        write(folder.path(), ".pi/prompts/fix.md", "other");
        write(folder.path(), ".claude/commands/long.md", &format!("\n{long}\n"));
        let found = PromptFiles::find(folder.path(), &folder.path().join("home"));
        let told: Vec<_> =
            found.templates.iter().map(|one| (one.name.as_str(), one.description.clone(), one.hint.clone())).collect();
        assert_eq!(
            told,
            [("fix", "Fixes".to_owned(), Some("ISSUE".to_owned())), ("long", format!("{}...", "x".repeat(60)), None)]
        );
        let Some(Expanded::Template(_, text)) = found.expand("/fix 12 now").unwrap() else { panic!() };
        assert_eq!(text, "Fix #12 now.");
        assert_eq!(found.expand("/fx 12").unwrap(), None);
    }

    #[test]
    fn a_prompt_of_a_server_is_a_template_of_the_nearest_space_that_nobody_fills_here() {
        let folder = tempfile::tempdir().unwrap();
        let file = |about: &str| {
            format!(
                "description: |\n  {about}\nprompt: {{server: mcp/servers/sky, name: forecast/7}}\narguments: [{{name: city, required: true}}]\n"
            )
        };
        write(folder.path(), ".ai/prompts/mcp/sky/forecast_7.yaml", &file("Of the\n  project"));
        write(folder.path(), "home/.ai/prompts/mcp/sky/forecast_7.yaml", &file("mine"));
        write(folder.path(), "home/.ai/prompts/mcp/sky/bad.yaml", "prompt: 3");
        let found = PromptFiles::find(folder.path(), &folder.path().join("home"));
        let [only] = found.templates.as_slice() else { panic!("{found:?}") };
        assert_eq!((only.name.as_str(), only.description.as_str()), ("mcp/sky/forecast_7", "Of the project"));
        assert_eq!((only.hint.as_deref(), only.space), (Some("CITY"), Space::Project));
        assert!(found.problems[0].contains("bad.yaml: names no `prompt`"), "{:?}", found.problems);
        let Some(Expanded::Asks(_, asks, values)) = found.expand("/mcp/sky/forecast_7 'New York'").unwrap() else {
            panic!()
        };
        assert_eq!((asks.name.as_str(), values["city"].as_str()), ("forecast/7", Some("New York")));
        for (text, why) in [
            ("/mcp/sky/forecast_7", "needs `city`"),
            ("/mcp/sky/forecast", "has no prompt `forecast` (did you mean /mcp/sky/forecast_7?)"),
        ] {
            let Err(ExpandError::Unfit(told)) = found.expand(text) else { panic!("{text}") };
            assert!(told.contains(why), "{told}");
        }
        for text in ["/mcp/sea/forecast", "/mcp/sky", "/mcp/sky/forecast/7"] {
            assert_eq!(found.expand(text).unwrap(), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_no_placeholder_stays(text in "[a-z \n{}:@1$]{0,80}") {
            let none: Vec<String> = Vec::new();
            let filled = fill(&text, &none);
            proptest::prop_assert!(filled.len() <= text.len());
        }
    }
}
