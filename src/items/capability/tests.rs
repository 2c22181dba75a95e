use super::*;
use crate::items::{Directive, Spaces};
use std::fs;

/// A folder with a project, a person and capability files.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            let (space, name) = path.split_once('/').unwrap();
            let path = home.folder.path().join(space).join(".ai/tools").join(FOLDER).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        home
    }

    fn items(&self) -> Items {
        let path = |name: &str| self.folder.path().join(name);
        Items::list(&Spaces::new(&path("project"), &path("user"), []))
    }

    fn capabilities(&self, project: ProjectFiles) -> Capabilities {
        Capabilities::read(&self.items(), project)
    }

    /// What `permissions` grants, each with `?` where it asks, or why nothing.
    fn granted(&self, permissions: &str) -> Result<Vec<String>, String> {
        self.expanded(permissions, ProjectFiles::Counted).map(|grants| grants.iter().map(told).collect())
    }

    fn expanded(&self, permissions: &str, project: ProjectFiles) -> Result<Vec<Grant>, String> {
        let text = format!(
            "```xml\n<directive name=\"a\"><metadata>\n<permissions>{permissions}</permissions></metadata></directive>\n```\nGo.\n"
        );
        let (directive, problems) = Directive::parse(&text, Path::new("a.md"));
        assert_eq!(problems, []);
        let expanded = self.capabilities(project).expand(&directive.permissions.capabilities, Path::new("a.md"));
        let folder = format!("{}/", self.folder.path().display());
        expanded
            .map(|grants| grants.into_iter().map(|one| one.value).collect())
            .map_err(|problem| problem.to_string().replace(&folder, ""))
    }
}

fn told(grant: &Grant) -> String {
    let asks = if grant.ask { "?" } else { "" };
    format!("{}{asks}", grant.capability.replace("rye.execute.tool.", ""))
}

const TEAM: &str = "capabilities: [rye.execute.tool.team.*]\naliases:\n  team.look: rye.execute.tool.team.look\n  team.all: [team.look, rye.execute.tool.team.do]\n";

#[test]
fn s02_an_alias_stands_for_what_its_file_says() {
    let home = Home::new(&[("user/team.yaml", TEAM)]);
    let granted = |permissions: &str| home.granted(permissions).unwrap();
    assert_eq!(granted("<cap>team.look</cap>"), ["team.look"]);
    assert_eq!(granted("<cap>team.all</cap>"), ["team.look", "team.do"]);
    assert_eq!(granted("<cap>team</cap>"), ["team.*"]);
    assert_eq!(
        granted("<cap ask=\"true\">team.all</cap><cap>team.look</cap>"),
        ["team.look?", "team.do?", "team.look"]
    );
    let read = ["read", "ls", "glob", "grep"].map(|name| format!("rye.file-system.{name}"));
    assert_eq!(granted("<cap>fs.read</cap>"), read);
    let via = home.expanded("<cap>team.all</cap>", ProjectFiles::Counted).unwrap().remove(0).via.unwrap();
    assert!(
        via.starts_with("team.all, ") && via.ends_with("user/.ai/tools/rye/agent/permissions/capabilities/team.yaml:3"),
        "{via}"
    );
}

#[test]
fn s02_front_matter_grants_by_alias() {
    let text = "---\nname: a\npermissions: [fs.read, rye.execute.tool.rye.bash]\n---\nGo.\n";
    let (directive, problems) = Directive::parse(text, Path::new("a.md"));
    assert_eq!(problems, []);
    let grants = Home::new(&[]).capabilities(ProjectFiles::Counted);
    let grants = grants.expand(&directive.permissions.capabilities, Path::new("a.md")).unwrap();
    assert_eq!(grants.len(), 5);
}

#[test]
fn s02_a_grant_implies_what_its_primary_and_its_place_imply_and_asks_as_it_does() {
    let chain = "implies: {execute: [fetch]}\nhierarchy:\n  rye.execute.tool.c: [rye.execute.tool.b]\n  rye.execute.tool.b: [rye.execute.tool.a]\n";
    let home = Home::new(&[("user/chain.yaml", chain)]);
    let granted = |permissions: &str| {
        let mut granted = home.granted(permissions).unwrap();
        granted.sort();
        granted
    };
    let tool = |name: &str, ask: &str| format!("<execute{ask}><tool>{name}</tool></execute>");
    let (asks, free) = (" ask=\"true\"", "");
    assert_eq!(granted(&tool("c", free)), ["a", "b", "c", "rye.fetch.tool.a", "rye.fetch.tool.b", "rye.fetch.tool.c"]);
    assert_eq!(granted(&tool("b", asks)), ["a?", "b?", "rye.fetch.tool.a?", "rye.fetch.tool.b?"]);
    // What the directive says itself holds.
    assert_eq!(granted(&(tool("b", asks) + &tool("a", free) + "<fetch>*</fetch>")), ["a", "b?", "rye.fetch.*"]);
    // A broad grant has what it implies already; what it asks for, nothing that is implied gives freely.
    assert_eq!(granted(&(tool("[ab]", asks) + &tool("c", free) + "<fetch>*</fetch>")), ["[ab]?", "c", "rye.fetch.*"]);
    assert_eq!(
        granted(&(tool("a?*", asks) + &tool("b", free) + "<fetch>*</fetch>")),
        ["a", "a?*?", "b", "rye.fetch.*"]
    );
    let shipped = Home::new(&[]);
    assert_eq!(shipped.granted("<sign><tool>a</tool></sign>").unwrap(), ["rye.sign.tool.a", "rye.fetch.tool.a"]);
    assert_eq!(shipped.granted("<execute><tool>rye/bash</tool></execute>").unwrap(), ["rye.bash"]);
    let via = home.expanded(&tool("b", free), ProjectFiles::Counted).unwrap().remove(1).via.unwrap();
    assert!(
        via.starts_with("implied by rye.execute.tool.b, ") || via.starts_with("implied by rye.execute.tool.a, "),
        "{via}"
    );
}

#[test]
fn s02_what_meets_a_grant_that_asks_is_asked_for() {
    let home = Home::new(&[("user/x.yaml", "hierarchy: {rye.execute.tool.x: [rye.execute.tool.files.*]}\n")]);
    let said = "<execute><tool>x</tool></execute><execute ask=\"true\"><tool>files/rea?</tool></execute>";
    assert_eq!(home.granted(said).unwrap(), ["x", "files.rea??", "files.*?"]);
}

#[test]
fn s02_what_cannot_be_expanded_refuses_with_its_place_and_the_next_step() {
    let circles = "aliases: {one: two, two: [one]}\nhierarchy:\n  rye.execute.tool.a: [rye.execute.tool.b]\n  rye.execute.tool.b: [rye.execute.tool.a]\n";
    let home = Home::new(&[
        ("user/broken.yaml", "name: broken\naliases: {odd.read: [nonsense here]}\n"),
        ("user/circles.yaml", circles),
        ("user/twin_a.yaml", "aliases: {twice: rye.fetch.*}\n"),
        ("user/twin_b.yaml", "aliases: {twice: rye.sign.*}\n"),
    ]);
    let file = |name: &str| format!("user/.ai/tools/rye/agent/permissions/capabilities/{name}.yaml");
    for (permissions, said) in [
        (
            "<cap>fs.raed</cap>",
            "a.md:3: `fs.raed` is no capability, and no alias of one; did you mean `fs.read`?".to_owned(),
        ),
        (
            "<cap>odd.read</cap>",
            format!(
                "a.md:3: `odd.read` cannot be granted: {}:2: `nonsense here` is no capability; write it in full, such as rye.execute.tool.team.*",
                file("broken")
            ),
        ),
        ("<cap>broken</cap>", format!("a.md:3: `broken` cannot be granted: {}:2: ", file("broken"))),
        (
            "<cap>one</cap>",
            format!("{}:1: the alias leads back to itself: one → two → one; remove one of them", file("circles")),
        ),
        (
            "<execute><tool>b</tool></execute>",
            format!(
                "{}:3: what is implied leads back to itself: rye.execute.tool.b → rye.execute.tool.a → rye.execute.tool.b; remove one of them",
                file("circles")
            ),
        ),
        (
            "<cap>twice</cap>",
            format!(
                "a.md:3: `twice` is there twice: {}:1 and {}:1; keep one of the two",
                file("twin_a"),
                file("twin_b")
            ),
        ),
    ] {
        let told = home.granted(permissions).unwrap_err();
        assert!(told.starts_with(&said), "{permissions}: {told}\nexpected {said}");
    }
    // Whoever uses none of it is not concerned.
    assert!(home.granted("<cap>fs.read</cap><execute><tool>c</tool></execute>").is_ok());
    let items = home.items();
    for (name, count) in [("broken", 1), ("circles", 4), ("twin_a", 1)] {
        let item = items.find(Kind::Tool, &format!("{FOLDER}{name}")).unwrap().item;
        let problems = crate::items::check::item(&items, item);
        assert_eq!(problems.len(), count, "{name}: {problems:#?}");
        assert!(problems.iter().all(|problem| problem.severity == Severity::Fatal && problem.line.is_some()));
    }
}

#[test]
fn s02_a_nearer_file_of_the_same_name_takes_the_place_of_another_and_a_broken_one_too() {
    let own = "aliases: {fs.read: rye.execute.tool.rye.file-system.read}\n";
    let home = Home::new(&[("user/fs.yaml", own)]);
    assert_eq!(home.granted("<cap>fs.read</cap>").unwrap(), ["rye.file-system.read"]);
    assert!(home.granted("<cap>fs.write</cap>").unwrap_err().contains("no alias"));
    let home = Home::new(&[("user/fs.yaml", "aliases: [")]);
    assert!(home.granted("<cap>fs.read</cap>").unwrap_err().contains("cannot be granted"));
}

#[test]
fn s02_files_of_a_project_count_when_it_is_trusted() {
    let home = Home::new(&[
        ("project/fs.yaml", "aliases: {fs.read: rye.execute.*}\n"),
        ("project/team.yaml", TEAM),
        ("project/implied.yaml", "hierarchy: {rye.execute.tool.a: [rye.execute.tool.b.*]}\n"),
    ]);
    let granted = |permissions: &str, project| {
        home.expanded(permissions, project).map(|grants| grants.iter().map(told).collect::<Vec<_>>())
    };
    assert_eq!(granted("<cap>fs.read</cap>", ProjectFiles::Ignored).unwrap().len(), 4);
    assert_eq!(granted("<cap>fs.read</cap>", ProjectFiles::Counted).unwrap(), ["rye.execute.*"]);
    let tool = "<execute><tool>a</tool></execute>";
    assert_eq!(granted(tool, ProjectFiles::Ignored).unwrap(), ["a"]);
    assert_eq!(granted(tool, ProjectFiles::Counted).unwrap(), ["a", "b.*"]);
    let refused = granted("<cap>team.look</cap>", ProjectFiles::Ignored).unwrap_err();
    assert!(
        refused.contains("team.yaml is of a project that you do not trust; look at it, then run levain trust"),
        "{refused}"
    );
    assert!(in_project(&home.items()) && !in_project(&Home::new(&[("user/team.yaml", TEAM)]).items()));
}

#[test]
fn s02_a_file_says_what_it_does_not_understand() {
    let parse = |text: &str| {
        let (_, problems) = CapabilityFile::parse(text, Path::new("x.yaml"), "x");
        problems.iter().map(|problem| format!("{} {problem}", problem.severity.word())).collect::<Vec<_>>()
    };
    assert_eq!(parse("name: x\nversion: 1.0.0\ncapabilities: [rye.fetch.*]\n"), Vec::<String>::new());
    for (text, said) in [
        ("name: y\n", "warning x.yaml:1: is named `y`, its file `x`"),
        ("alaises: {}\n", "fatal x.yaml:1: unknown name `alaises`; did you mean `aliases`?"),
        ("colour: red\n", "warning x.yaml:1: unknown name `colour`"),
        ("implies: {run: [fetch]}\n", "fatal x.yaml:1: `run` is no primary"),
        ("implies: {execute: [fecth]}\n", "fatal x.yaml:1: `fecth` is no primary; did you mean `fetch`?"),
        ("aliases: {execute.all: rye.execute.*}\n", "fatal x.yaml:1: `execute.all` cannot be an alias"),
        ("aliases: {a: []}\n", "fatal x.yaml:1: `a` names nothing"),
        ("aliases: [a]\n", "fatal x.yaml:1: `aliases` is not a mapping"),
        ("capabilities: [fs.read]\n", "fatal x.yaml:1: `fs.read` is no capability"),
        ("hierarchy: {a: [rye.fetch.*]}\n", "fatal x.yaml:1: `a` is no capability"),
        ("", "fatal x.yaml:1: is empty"),
        ("- a\n", "fatal x.yaml:1: is not a mapping"),
        ("a: [\n", "fatal x.yaml:"),
    ] {
        let told = parse(text);
        assert!(told.first().is_some_and(|told| told.starts_with(said)), "{text}: {told:?}");
    }
}
