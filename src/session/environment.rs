//! Looking what is around a thread just before a call: the time, the project's folder, the branch it is on, what is
//! remembered, and what commands of context providers say.

use super::branch;
use super::setup::Setup;
use crate::config::{Dirs, Trust};
use crate::context::{ContextQuery, EnvironmentSnapshot, State};
use crate::domain::Space;
use crate::items::Items;
use crate::items::provider_query::QueryTarget;
use crate::ports::process;
use crate::store::Layout;
use crate::tools::mcp::{Connections, Server, With};
use crate::tools::{self, Environment};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// A file system that takes longer to tell the branch is not waited for.
const PATIENCE: Duration = Duration::from_millis(250);

/// What a command may say, in bytes; the rest is left out.
const MOST_SAID: u64 = 16 << 10;

/// Letters of a complaint that are told.
const LONGEST_COMPLAINT: usize = 200;

/// Who looks.
#[derive(Clone, Debug)]
pub(super) struct EnvironmentProbe {
    /// The project's folder.
    folder: PathBuf,
    /// Where the person's trust is written; nobody is trusted without.
    dirs: Option<Dirs>,
    environment: Environment,
    /// Where servers are found whose resources are asked for, with what they are reached, and connections to them.
    servers: Option<Arc<(Items, With, Connections)>>,
    /// What commands said while their inputs stayed as they are.
    said: Arc<Mutex<BTreeMap<String, Said>>>,
}

/// What a command said, and how its inputs stood.
#[derive(Clone, Debug)]
struct Said {
    inputs: String,
    text: String,
}

impl EnvironmentProbe {
    /// Somebody who trusts no project.
    pub(super) fn new(folder: &Path) -> Self {
        let environment = Environment::default();
        Self { folder: folder.to_owned(), dirs: None, environment, servers: None, said: Arc::default() }
    }

    /// Somebody who trusts whom the person trusts, and gives commands what of the environment tools get too.
    pub(super) fn trusting(setup: &Setup, items: &Items) -> Self {
        let servers = Some(Arc::new((items.clone(), setup.mcp(), setup.connections())));
        let (dirs, environment) = (Some(setup.dirs.clone()), setup.environment());
        Self { dirs, environment, servers, ..Self::new(&setup.project.root) }
    }

    /// What is around now, as far as `state` wants to know.
    pub(super) async fn look(&self, state: &[State]) -> EnvironmentSnapshot {
        let now = jiff::Zoned::now();
        let commands: Vec<&ContextQuery> = state.iter().filter_map(State::command).collect();
        let (branch, memory, commands) =
            tokio::join!(branch(&self.folder), self.memory(state), self.commands(&commands));
        EnvironmentSnapshot {
            now: Some(now.strftime("%A, %Y-%m-%d %H:%M %:z").to_string()),
            folder: self.folder.display().to_string(),
            branch,
            memory,
            commands,
            persona: None,
            todo: None,
            background: Vec::new(),
        }
    }

    async fn memory(&self, state: &[State]) -> Result<Vec<(u64, String)>, String> {
        if !state.iter().any(State::needs_memory) {
            return Ok(Vec::new());
        }
        let path = Layout::memory_of(&self.folder);
        let notes = tokio::task::spawn_blocking(move || tools::notes(&path)).await;
        let notes = notes.unwrap_or_else(|error| Err(error.to_string()))?;
        Ok(notes.into_iter().map(|note| (note.id, note.text)).collect())
    }

    /// All commands at once, each within its deadline.
    async fn commands(&self, commands: &[&ContextQuery]) -> BTreeMap<String, Result<String, String>> {
        if commands.is_empty() {
            return BTreeMap::new();
        }
        let strange = commands.iter().any(|command| command.space == Space::Project);
        let trust = if strange { self.trust().await } else { None };
        let asked = commands.iter().map(|command| {
            let covered = |trust: &Trust| trust.covers(&command.file, &command.target.words());
            let may = command.space != Space::Project || trust.as_ref().is_some_and(covered);
            async move {
                let said = if may {
                    self.ask(command).await
                } else {
                    Err("it was not asked: you have not trusted this project (levain trust)".to_owned())
                };
                (command.name.clone(), said)
            }
        });
        futures_util::future::join_all(asked).await.into_iter().collect()
    }

    /// How far the project is trusted now; none where nobody is.
    async fn trust(&self) -> Option<Trust> {
        let (dirs, folder) = (self.dirs.clone()?, self.folder.clone());
        tokio::task::spawn_blocking(move || Trust::of(&dirs, &folder)).await.ok()
    }

    async fn ask(&self, command: &ContextQuery) -> Result<String, String> {
        let inputs = (!command.inputs.is_empty()).then(|| self.stamp(command));
        let known = || self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inputs) = &inputs
            && let Some(said) = known().get(&command.name).filter(|said| said.inputs == *inputs)
        {
            return Ok(said.text.clone());
        }
        let text = match &command.target {
            QueryTarget::Command(words) => self.run(words, command.deadline).await?,
            QueryTarget::Resource { server, uri } => self.read(server, uri, command.deadline).await?,
        };
        if let Some(inputs) = inputs {
            known().insert(command.name.clone(), Said { inputs, text: text.clone() });
        }
        Ok(text)
    }

    /// How the command and its inputs stand: sizes and times of change.
    fn stamp(&self, command: &ContextQuery) -> String {
        let one = |input: &String| {
            let meta = self.folder.join(input).metadata().ok();
            format!("{:?}", meta.map(|meta| (meta.len(), meta.modified().ok())))
        };
        format!("{:?} {:?}", command.target, command.inputs.iter().map(one).collect::<Vec<_>>())
    }

    /// Reads a resource of an MCP server. The connection stays for the next time, also where it came about too late for this one.
    async fn read(&self, server: &str, uri: &str, deadline: Duration) -> Result<String, String> {
        let (this, id, uri) = (self.clone(), server.to_owned(), uri.to_owned());
        let read = tokio::spawn(async move { this.resource(&id, &uri).await });
        let seconds = deadline.as_secs_f64();
        let read = tokio::time::timeout(deadline, read).await;
        let read = read.map_err(|_late| format!("`{server}` did not answer within {seconds} s"))?;
        let text = read.map_err(|failed| failed.to_string())?.map_err(|why| brief(&why))?;
        let whole = text.len() as u64 <= MOST_SAID;
        let end = text.floor_char_boundary(usize::try_from(MOST_SAID).unwrap_or(usize::MAX).min(text.len()));
        Ok(plain(text.get(..end).unwrap_or_default(), whole))
    }

    async fn resource(&self, id: &str, uri: &str) -> Result<String, String> {
        let servers = self.servers.clone().ok_or("nobody here asks MCP servers")?;
        let (known, id) = (Arc::clone(&servers), id.to_owned());
        let find = move || {
            let items = known.0.afresh();
            let (server, found) = Server::find(&items, &id)?;
            Ok::<_, String>((server, items.space(found.item) == Space::Project))
        };
        let (server, of_project) = tokio::task::spawn_blocking(find).await.map_err(|error| error.to_string())??;
        if of_project && !self.trust().await.as_ref().is_some_and(Trust::allows) {
            return Err("its server was not started: you have not trusted this project (levain trust)".to_owned());
        }
        let (_, with, connections) = &*servers;
        connections.read(&server, uri, with).await
    }

    /// Runs a command in the project's folder, in a group of its own that ends with it.
    async fn run(&self, words: &[String], deadline: Duration) -> Result<String, String> {
        let [program, arguments @ ..] = words else { return Ok(String::new()) };
        let failed = |error: std::io::Error| format!("`{program}` could not be run: {error}");
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment.variables())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let _ended_with_us = Group(child.id().unwrap_or_default());
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let ending = async {
            let (said, complained) = tokio::join!(beginning(output), beginning(errors));
            child.wait().await.map(|status| (status, said, complained))
        };
        let seconds = deadline.as_secs_f64();
        let Ok(ended) = tokio::time::timeout(deadline, ending).await else {
            return Err(format!("`{program}` did not answer within {seconds} s"));
        };
        let (status, said, complained) = ended.map_err(failed)?;
        if status.success() {
            return Ok(said);
        }
        let why = brief(&complained);
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        Err(format!(
            "`{program}` ended with {}{why}",
            status.code().map_or("a signal".to_owned(), |code| code.to_string())
        ))
    }
}

/// A process group that ends when nobody waits for it any more.
struct Group(u32);

impl Drop for Group {
    fn drop(&mut self) {
        process::signal(&process::identify(self.0), Signal::KILL);
    }
}

/// The beginning of what comes, without what would steer a terminal; the rest is read and dropped.
async fn beginning(pipe: Option<impl tokio::io::AsyncRead + Unpin>) -> String {
    let Some(pipe) = pipe else { return String::new() };
    let mut bytes = Vec::new();
    let mut first = pipe.take(MOST_SAID);
    let _what_came_counts = first.read_to_end(&mut bytes).await;
    let whole = (bytes.len() as u64) < MOST_SAID;
    let _dropped = tokio::io::copy(&mut first.into_inner(), &mut tokio::io::sink()).await;
    plain(&String::from_utf8_lossy(&bytes), whole)
}

/// The first line of a complaint, as much of it as is told.
fn brief(text: &str) -> String {
    plain(text, true).lines().next().unwrap_or_default().chars().take(LONGEST_COMPLAINT).collect()
}

/// Text without what would steer a terminal, and a word where it is not whole.
fn plain(text: &str, whole: bool) -> String {
    let text: String = text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect();
    let text = text.trim();
    if whole { text.to_owned() } else { format!("{text}\n(the rest is left out)") }
}

/// The branch; none where it is not known at once.
async fn branch(folder: &Path) -> Option<String> {
    let folder = folder.to_owned();
    let looked = tokio::task::spawn_blocking(move || branch::of(&folder));
    tokio::time::timeout(PATIENCE, looked).await.ok()?.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Authorities;
    use crate::config::trust::Runnable;

    fn command(program: &[&str], inputs: &[&str]) -> ContextQuery {
        ContextQuery {
            name: "x".to_owned(),
            space: Space::User,
            file: String::new(),
            target: QueryTarget::Command(program.iter().map(|part| (*part).to_owned()).collect()),
            deadline: Duration::from_secs(20),
            inputs: inputs.iter().map(|part| (*part).to_owned()).collect(),
            optional: true,
        }
    }

    fn probe(folder: &Path) -> EnvironmentProbe {
        let variables = [("PATH".into(), std::env::var_os("PATH").unwrap()), ("MY_API_KEY".into(), "s3cret".into())];
        EnvironmentProbe { environment: Environment::allowed(variables, &[], &[]), ..EnvironmentProbe::new(folder) }
    }

    #[tokio::test]
    async fn a_command_says_its_output_without_keys_and_steering() {
        let folder = tempfile::tempdir().unwrap();
        let ask = async |script: &str| probe(folder.path()).ask(&command(&["sh", "-c", script], &[])).await;
        assert_eq!(ask("printf '\\033[31mred\\033[0m\\n'; echo $MY_API_KEY").await, Ok("[31mred[0m".into()));
        assert_eq!(ask("echo no >&2; exit 3").await, Err("`sh` ended with 3: no".into()));
        let long = ask("head -c 100000 /dev/zero | tr '\\0' x").await.unwrap();
        assert!(long.len() < 17_000 && long.ends_with("(the rest is left out)"));
        let missing = probe(folder.path()).ask(&command(&["/no/such"], &[])).await.unwrap_err();
        assert!(missing.starts_with("`/no/such` could not be run"), "{missing}");
    }

    #[tokio::test]
    async fn a_command_that_does_not_answer_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let slow = ContextQuery {
            deadline: Duration::from_millis(200),
            ..command(&["sh", "-c", "sleep 600 & echo $! > pid; wait"], &[])
        };
        assert_eq!(probe(folder.path()).ask(&slow).await, Err("`sh` did not answer within 0.2 s".into()));
        let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"));
        while lives() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_command_is_asked_again_when_an_input_changed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("in"), "1").unwrap();
        let probe = probe(folder.path());
        let command = command(&["sh", "-c", "echo x >> count; wc -l < count"], &["in"]);
        let mut said = Vec::new();
        for text in ["1", "1", "longer"] {
            if said.len() == 2 {
                std::fs::write(folder.path().join("in"), text).unwrap();
            }
            said.push(probe.ask(&command).await.unwrap());
        }
        assert_eq!(said, ["1", "1", "2"]);
    }

    #[tokio::test]
    async fn a_strange_projects_command_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let asked = ContextQuery { space: Space::Project, ..command(&["touch", "ran"], &[]) };
        let said = probe(folder.path()).commands(&[&asked]).await;
        assert!(said.get("x").unwrap().as_ref().unwrap_err().contains("not trusted"), "{said:?}");
        assert!(!folder.path().join("ran").exists());
    }

    #[tokio::test]
    async fn a_command_that_trust_does_not_list_is_not_run() {
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let dirs = Dirs::below(home.path());
        let path = ".ai/knowledge/x.yaml";
        let asked = ContextQuery { space: Space::Project, file: path.to_owned(), ..command(&["touch", "ran"], &[]) };
        let probe = EnvironmentProbe { dirs: Some(dirs.clone()), ..probe(folder.path()) };
        let ran = async || {
            let _said = probe.commands(&[&asked]).await;
            folder.path().join("ran").exists()
        };
        assert!(!ran().await, "there is nothing to trust, and it ran");
        std::fs::create_dir_all(folder.path().join(".ai/knowledge")).unwrap();
        let grant = || {
            let runnable = Runnable::of(folder.path()).unwrap().unwrap();
            Trust::grant(&dirs, folder.path(), &runnable, &Authorities::new()).unwrap();
        };
        std::fs::write(folder.path().join(path), "command: [touch, other]").unwrap();
        grant();
        assert!(!ran().await, "another command is trusted, and it ran");
        std::fs::write(folder.path().join(path), "command: [touch, ran]").unwrap();
        assert!(!ran().await, "it changed, and it ran");
        grant();
        assert!(ran().await);
    }
}
