//! The runtimes of tools that are processes: Python, Node, bash, and those that files define.

use super::program;
use crate::items::{Item, Items, Place, Tool};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const PYTHON_FUNCTION: &str = "rye/core/runtimes/python/function";
const PYTHON_SCRIPT: &str = "rye/core/runtimes/python/script";
pub(super) const NODE: &str = "rye/core/runtimes/node/node";
pub(super) const BASH: &str = "rye/core/runtimes/bash/bash";
pub(super) const EXECUTE: &str = "rye/core/primitives/execute";

/// How long a tool may run where nothing is said, in seconds.
const USUAL: u64 = 300;

/// What is run in the place of a Python tool that is a function.
const FUNCTION: &str = include_str!("../../../assets/runtimes/function.py");

/// Variables begin so by which a shell tool gets its parameters.
const PARAMETER: &str = "PARAM_";

/// A runtime or primitive that is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    PythonFunction,
    PythonScript,
    Node,
    Bash,
    /// A command that the files of the chain name.
    Execute,
    Http,
    Mcp,
}

impl Runtime {
    /// The built-in runtime of that id.
    pub(super) fn known(id: &str) -> Option<Self> {
        Some(match id {
            PYTHON_FUNCTION => Self::PythonFunction,
            PYTHON_SCRIPT => Self::PythonScript,
            NODE => Self::Node,
            BASH => Self::Bash,
            EXECUTE | "rye/core/primitives/subprocess" => Self::Execute,
            "rye/core/primitives/http_client" => Self::Http,
            "rye/core/runtimes/mcp/stdio" | "rye/core/runtimes/mcp/http" => Self::Mcp,
            _ => return None,
        })
    }
}

/// Why tools of an executor that exists elsewhere are not run here.
pub(super) fn foreign(id: &str) -> Option<&'static str> {
    match id {
        "rye/core/runtimes/state-graph/runtime" => Some("graphs of states are walked by an engine that levain has not"),
        "rye/core/runtimes/rust/runtime" => Some("it runs programs of another engine, which levain has not"),
        _ => None,
    }
}

/// Where things lie, for one tool.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) tool: PathBuf,
    project: PathBuf,
    /// The folder of the tool, from which it loads what lies beside it.
    anchor: PathBuf,
    /// Folders in which programs are looked for first.
    programs: Vec<PathBuf>,
    /// The folder that holds the `.ai` of the tool.
    base: Option<PathBuf>,
}

impl Places {
    pub(super) fn of(items: &Items, item: &Item, project: &Path) -> Self {
        let tool = items.file(item);
        let base = items.root(item).and_then(|root| match &root.place {
            Place::Folder(folder) => Some(folder.clone()),
            Place::Embedded => None,
        });
        let anchor = tool.parent().unwrap_or(project).to_owned();
        let mut programs = Vec::new();
        // The project's own interpreter is for the project's own tools: those of the person and of bundles run without its being
        // trusted.
        if let Some(base) = &base {
            // What is installed beside a package that brings tools: PREFIX/lib/pythonX/site-packages/PACKAGE.
            let beside = base.ancestors().nth(4).map(|prefix| prefix.join("bin"));
            programs.extend(beside.filter(|_| base.as_path() != project));
            programs.push(base.join(".venv/bin"));
        }
        Self { tool, project: project.to_owned(), anchor, programs, base }
    }

    /// `node_modules/.bin` of the tool's folder and of those above it, up to the folder that holds its `.ai`.
    fn node_programs(&self) -> Vec<PathBuf> {
        let top = self.base.as_deref().unwrap_or(&self.project);
        let within = self.anchor.ancestors().take_while(|folder| folder.starts_with(top));
        within.map(|folder| folder.join("node_modules/.bin")).collect()
    }
}

/// A tool that is a process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) program: PathBuf,
    arguments: Vec<Argument>,
    pub(super) folder: PathBuf,
    pub(super) variables: Vec<(String, OsString)>,
    pub(super) longest: Duration,
    /// Whether simple parameters are variables, too: a shell reads no JSON.
    as_variables: bool,
}

#[derive(Debug)]
enum Argument {
    Fixed(OsString),
    /// The parameter of that name, whole. `guarded`: no `--` stands before it.
    Parameter {
        name: String,
        guarded: bool,
    },
}

impl Process {
    /// `runtimes` are the files between the tool and the built-in link, the nearest to the tool first.
    pub(super) fn make<'a>(
        known: Runtime,
        runtimes: impl Iterator<Item = (PathBuf, &'a Tool)>,
        own: &Value,
        tool: &Tool,
        places: &Places,
    ) -> Result<Self, String> {
        let text = |path: &Path| path.as_os_str().to_owned();
        let fixed = |word: OsString| Argument::Fixed(word);
        let find = |names: &[&str], folders: &[PathBuf], what: &str| {
            let found = names.iter().find_map(|name| program(name, folders));
            found.ok_or_else(|| format!("{what} is not installed ({} was not found)", names.join(" or ")))
        };
        let longest = super::seconds(own, USUAL);
        let made = |program: PathBuf, arguments: Vec<OsString>, variables: Vec<(String, OsString)>| Self {
            program,
            arguments: arguments.into_iter().map(fixed).collect(),
            folder: places.project.clone(),
            variables,
            longest,
            as_variables: false,
        };
        let python = |first: Vec<OsString>, last: Vec<OsString>| {
            let program = find(&["python3", "python"], &places.programs, "Python")?;
            let path = python_path(places);
            let variables = vec![("PYTHONUNBUFFERED".to_owned(), "1".into()), ("PYTHONPATH".to_owned(), path)];
            Ok(made(program, first.into_iter().chain([text(&places.tool)]).chain(last).collect(), variables))
        };
        let project = || vec!["--project-path".into(), text(&places.project)];
        match known {
            Runtime::PythonFunction => python(vec!["-c".into(), FUNCTION.into()], vec![text(&places.project)]),
            Runtime::PythonScript => python(Vec::new(), project()),
            Runtime::Node => {
                let needs_tsx = places.tool.extension().is_some_and(|ending| ending == "ts");
                let names: &[&str] = if needs_tsx { &["tsx", "node"] } else { &["node"] };
                let program = find(names, &places.node_programs(), "Node")?;
                let arguments = std::iter::once(text(&places.tool)).chain(project()).collect();
                Ok(made(program, arguments, Vec::new()))
            }
            Runtime::Bash => Self::shell(own, places, made),
            Runtime::Execute => Self::by_files(runtimes, own, tool, places),
            Runtime::Http | Runtime::Mcp => Err("it is no process".to_owned()),
        }
    }

    /// A shell tool: its own file, or the command that it names in its configuration.
    fn shell(
        own: &Value,
        places: &Places,
        made: impl Fn(PathBuf, Vec<OsString>, Vec<(String, OsString)>) -> Self,
    ) -> Result<Self, String> {
        let bash = program("bash", &[]).ok_or("bash is not installed")?;
        let (tool, project) = (places.tool.clone().into_os_string(), places.project.clone().into_os_string());
        let is_script = places.tool.extension().is_some_and(|ending| ending == "sh");
        let arguments = match own.get("command").and_then(Value::as_str) {
            Some(command) => {
                if placeholders(command).next().is_some() {
                    return Err(
                        "its command holds {…}: parameters come on standard input and as $PARAM_NAME".to_owned()
                    );
                }
                vec!["-c".into(), command.into(), tool, project]
            }
            None if is_script => vec![tool, "--project-path".into(), project],
            None => return Err("it names no command (config: command)".to_owned()),
        };
        Ok(Self { as_variables: true, ..made(bash, arguments, Vec::new()) })
    }

    /// A command that the files of the chain name: the runtime's, over which the tool's own configuration is laid.
    fn by_files<'a>(
        runtimes: impl Iterator<Item = (PathBuf, &'a Tool)>,
        own: &Value,
        tool: &Tool,
        places: &Places,
    ) -> Result<Self, String> {
        let runtimes: Vec<(PathBuf, &Tool)> = runtimes.collect();
        let mut config = Map::new();
        let mut names: Vec<(String, OsString)> = Vec::new();
        let mut variables: Vec<(String, OsString)> = Vec::new();
        let all =
            runtimes.iter().rev().map(|(file, tool)| (file.as_path(), *tool)).chain([(places.tool.as_path(), tool)]);
        for (file, link) in all {
            let own_config = link.config.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
            config.extend(own_config);
            let Some(environment) = link.env_config.as_ref() else { continue };
            if let Some(interpreter) = environment.get("interpreter") {
                names.push(find_interpreter(interpreter, places)?);
            }
            let given = environment.get("env").and_then(Value::as_object).into_iter().flatten();
            for (name, value) in given {
                let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
                variables.push((name.clone(), filled(&value, &names, places, file)?.into()));
            }
        }
        let config = Value::Object(config);
        let command = config.get("command").and_then(Value::as_str).ok_or("it names no command (config: command)")?;
        let anywhere = Path::new("");
        let command = filled(command, &names, places, anywhere)?;
        let folders = [places.programs.as_slice(), &places.node_programs()].concat();
        let program = program(&command, &folders).ok_or_else(|| format!("its command `{command}` was not found"))?;
        let words = config.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut arguments = Vec::new();
        let mut guarded = true;
        for word in words {
            let word = word.as_str().map_or_else(|| word.to_string(), ToOwned::to_owned);
            guarded &= word != "--";
            arguments.push(match parameter(&word) {
                Some(name) => Argument::Parameter { name: name.to_owned(), guarded },
                None => Argument::Fixed(filled(&word, &names, places, anywhere)?.into()),
            });
        }
        let folder = match config.get("cwd").and_then(Value::as_str) {
            Some(folder) => places.project.join(filled(folder, &names, places, anywhere)?),
            None => places.project.clone(),
        };
        let own_timeout = own.get("timeout").map_or(&config, |_| own);
        variables.extend(names);
        Ok(Self {
            program,
            arguments,
            folder,
            variables,
            longest: super::seconds(own_timeout, USUAL),
            as_variables: false,
        })
    }

    /// The program and its arguments for these parameters.
    ///
    /// # Errors
    /// A parameter that is missing, or that a program would take for an option.
    pub(super) fn words(&self, parameters: &Map<String, Value>) -> Result<Vec<OsString>, String> {
        let mut words = vec![self.program.clone().into_os_string()];
        for argument in &self.arguments {
            match argument {
                Argument::Fixed(word) => words.push(word.clone()),
                Argument::Parameter { name, guarded } => {
                    let value = parameters.get(name).filter(|value| !value.is_null());
                    let value = value.ok_or_else(|| format!("the parameter `{name}` is missing"))?;
                    let word = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
                    if *guarded && word.starts_with('-') {
                        return Err(format!(
                            "`{name}` begins with `-` and would be taken for an option: the tool's file has no `--` before it"
                        ));
                    }
                    if word.contains('\0') {
                        return Err(format!("`{name}` holds a zero byte"));
                    }
                    words.push(word.into());
                }
            }
        }
        Ok(words)
    }

    /// Variables of the process beside the usual ones.
    pub(super) fn variables(&self, parameters: &Map<String, Value>) -> Vec<(String, OsString)> {
        let mut variables = self.variables.clone();
        let simple = parameters.iter().filter(|_| self.as_variables).filter_map(|(name, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            (is_name && !text.contains('\0')).then(|| (format!("{PARAMETER}{}", name.to_uppercase()), text.into()))
        });
        variables.extend(simple);
        variables
    }
}

/// Where a Python tool finds what lies beside it.
fn python_path(places: &Places) -> OsString {
    let library = places.base.as_ref().map(|base| base.join(".ai/tools/rye/core/runtimes/python/lib"));
    let mut folders = vec![places.anchor.clone()];
    folders.extend(library.filter(|library| library.is_dir()));
    let given = std::env::var_os("PYTHONPATH").filter(|path| !path.is_empty());
    folders.extend(given.iter().flat_map(std::env::split_paths));
    std::env::join_paths(folders).unwrap_or_else(|_| places.anchor.clone().into_os_string())
}

/// The variable that names an interpreter, and where that lies.
fn find_interpreter(said: &Value, places: &Places) -> Result<(String, OsString), String> {
    let word = |name: &str| said.get(name).and_then(Value::as_str);
    let list = |name: &str| {
        let all = said.get(name).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let variable = word("var").ok_or("its interpreter names no variable (var)")?.to_owned();
    let names = || word("binary").map(ToOwned::to_owned).into_iter().chain(list("candidates"));
    let fallback = || word("fallback").and_then(|name| program(name, &[]));
    let found = match word("type") {
        Some("local_binary") => {
            let roots = match list("search_roots") {
                none if none.is_empty() => vec![places.project.clone(), places.anchor.clone()],
                roots => roots
                    .iter()
                    .map(|root| filled(root, &[], places, Path::new("")))
                    .collect::<Result<Vec<_>, _>>()?
                    .into_iter()
                    .map(PathBuf::from)
                    .collect(),
            };
            let folders: Vec<PathBuf> =
                roots.iter().flat_map(|root| list("search_paths").into_iter().map(|path| root.join(path))).collect();
            names().find_map(|name| program(&name, &folders)).or_else(fallback)
        }
        Some("system_binary") => names().find_map(|name| program(&name, &[])).or_else(fallback),
        Some(other) => return Err(format!("its interpreter is found by `{other}`, which levain does not do")),
        None => return Err("its interpreter names no type".to_owned()),
    };
    let names = names().collect::<Vec<_>>().join(" or ");
    found.map(|path| (variable, path.into_os_string())).ok_or_else(|| format!("its interpreter {names} was not found"))
}

/// The parameter that a whole word stands for, where the word is one that levain does not fill itself.
fn parameter(word: &str) -> Option<&str> {
    let name = word.strip_prefix('{')?.strip_suffix('}')?;
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    (is_name && !PLACES.contains(&name)).then_some(name)
}

/// What a runtime's file can name.
const PLACES: [&str; 5] = ["tool_path", "project_path", "anchor_path", "runtime_lib", "system_space"];

/// The names of `{…}` in a text.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
        .filter(|name| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_'))
}

/// A text of a tool's file with the places and variables in it filled. Parameters are not: they are data.
fn filled(text: &str, names: &[(String, OsString)], places: &Places, file: &Path) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            filled.push_str("${");
            rest = after;
            continue;
        };
        let (name, default) = name.split_once(":-").unwrap_or((name, ""));
        let known = names.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.clone());
        let value = known.or_else(|| std::env::var_os(name).filter(|_| super::super::environment::is_harmless(name)));
        filled.push_str(&value.map_or_else(|| default.to_owned(), |value| value.to_string_lossy().into_owned()));
        rest = behind;
    }
    filled.push_str(rest);
    let library = file.parent().map(|folder| folder.join("lib")).unwrap_or_default();
    let system = places.base.clone().unwrap_or_default();
    for (name, path) in [
        ("tool_path", &places.tool),
        ("project_path", &places.project),
        ("anchor_path", &places.anchor),
        ("runtime_lib", &library),
        ("system_space", &system),
    ] {
        filled = filled.replace(&format!("{{{name}}}"), &path.to_string_lossy());
    }
    match placeholders(text).find(|name| !PLACES.contains(name)).filter(|name| !text.contains(&format!("${{{name}}}")))
    {
        Some("params_json") => {
            Err("it puts the parameters into a text: they come as JSON on standard input".to_owned())
        }
        Some(name) => Err(format!("it puts `{{{name}}}` into a text: a parameter has to be a whole argument")),
        None => Ok(filled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_whole_arguments_and_never_options() {
        let process = Process {
            program: "/bin/x".into(),
            arguments: vec![
                Argument::Fixed("log".into()),
                Argument::Parameter { name: "ref".into(), guarded: true },
                Argument::Fixed("--".into()),
                Argument::Parameter { name: "path".into(), guarded: false },
            ],
            folder: "/".into(),
            variables: Vec::new(),
            longest: Duration::from_secs(1),
            as_variables: false,
        };
        let given = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap();
        let words = process.words(&given(r#"{"ref": "a b; rm $(x) {tool_path}", "path": "--x"}"#)).unwrap();
        assert_eq!(words, ["/bin/x", "log", "a b; rm $(x) {tool_path}", "--", "--x"]);
        let refused = process.words(&given(r#"{"ref": "--output=/etc/x", "path": "a"}"#)).unwrap_err();
        assert!(refused.contains("option"), "{refused}");
        assert!(process.words(&given(r#"{"ref": "a"}"#)).unwrap_err().contains("`path` is missing"));
    }

    #[test]
    fn places_are_filled_and_parameters_in_texts_are_refused() {
        let places = Places {
            tool: "/p/.ai/tools/a.py".into(),
            project: "/p".into(),
            anchor: "/p/.ai/tools".into(),
            programs: Vec::new(),
            base: Some("/p".into()),
        };
        let fill = |text: &str| filled(text, &[("RYE_X".into(), "/bin/x".into())], &places, Path::new("/r/r.yaml"));
        assert_eq!(
            fill("${RYE_X} {tool_path} {project_path}/a ${NO_SUCH:-b} {runtime_lib}").unwrap(),
            "/bin/x /p/.ai/tools/a.py /p/a b /r/lib"
        );
        assert!(fill("sh -c 'echo {text}'").unwrap_err().contains("whole argument"));
        assert_eq!((parameter("{text}"), parameter("{tool_path}"), parameter("a{text}")), (Some("text"), None, None));
    }
}
