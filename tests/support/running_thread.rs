//! A thread of a project in a worker of its own, as a screen has it, talked to by messages in the place of keys.

use super::scripted_project::Project;
use super::terminal::PATIENCE;
use levain::domain::event::PromptMode;
use levain::domain::{
    Command, Lineage, ModelRef, SetLimits, State, Status, ThreadId, ThreadKind, ThreadOrigin, Timestamp, Values,
};
use levain::ports::ThreadSpec;
use levain::store::Layout;
use levain::store::summary::Summary;
use levain::worker::client::Client;
use levain::worker::launch::{Launcher, Started};
use levain::worker::protocol::FromWorker;
use rustix::process::Pid;
use std::time::Duration;
use tokio::time::timeout;

/// See the module.
pub struct RunningThread {
    launcher: Launcher,
    pub id: ThreadId,
    client: Client,
    /// What was told last of how it stands.
    state: Option<State>,
    /// Of the newest command.
    number: u64,
}

/// What a person sends.
pub fn prompt(text: &str, mode: PromptMode) -> Command {
    Command::Submit { text: text.into(), mode, images: Vec::new(), files: Vec::new(), client: None }
}

/// Whether nothing is done and nobody waited for.
pub fn rests(state: &State) -> bool {
    !matches!(state.status, Status::Running | Status::Queued | Status::Created) && state.handling.is_none()
}

impl RunningThread {
    pub async fn start(project: &Project, directive: &str) -> Self {
        Self::start_with(project, directive, "{}", &[]).await
    }

    /// With a line of what is secret in the environment, and with more variables that are not.
    pub async fn start_with(project: &Project, directive: &str, secrets: &str, more: &[(&str, &str)]) -> Self {
        let more = more.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = project.home.environment().into_iter().chain(more).collect();
        let root = project.home.project().canonicalize().unwrap();
        let layout = Layout::new(&root, &project.home.path().join("state/levain"));
        let spec = ThreadSpec {
            id: Some("chat-1".parse().unwrap()),
            directive: directive.into(),
            inputs: Values::new(),
            model: model(project.model.as_str()),
            kind: ThreadKind::Interactive,
            limits: SetLimits::default(),
            lineage: Lineage::of(ThreadOrigin::Screen),
            ceilings: Vec::new(),
        };
        let id = Summary::make(&layout, spec, Timestamp(1)).unwrap().thread_id;
        let launcher = Launcher {
            started: Started::default(),
            program: env!("CARGO_BIN_EXE_levain").into(),
            runtime: project.home.path().join("run/levain"),
            layout,
            arguments: Vec::new(),
            environment,
            secrets: secrets.to_owned().into(),
        };
        let client = launcher.reach(&id, 0).await.unwrap();
        Self { launcher, id, client, state: None, number: 0 }
    }

    /// Asks for something; the refusal, where it is refused.
    pub async fn ask(&mut self, command: Command) -> Result<(), String> {
        self.number += 1;
        let number = self.number;
        let name = format!("{command:?}").chars().take(60).collect::<String>();
        self.client.sender().command(number, command).await.unwrap();
        let answer = async {
            loop {
                match self.client.next().await.expect("the worker is there") {
                    FromWorker::Ack { id } if id == number => return Ok(()),
                    FromWorker::Error { id, message } if id == number => return Err(message),
                    FromWorker::State(state) => self.state = Some(state),
                    _ => {}
                }
            }
        };
        timeout(PATIENCE, answer).await.unwrap_or_else(|_| panic!("no answer to {name}"))
    }

    pub async fn say(&mut self, text: &str, mode: PromptMode) {
        self.ask(prompt(text, mode)).await.unwrap();
    }

    /// How it stands, once it is so.
    pub async fn until(&mut self, what: &str, wanted: impl Fn(&State) -> bool) -> State {
        self.until_within(PATIENCE, what, wanted).await
    }

    pub async fn until_within(&mut self, patience: Duration, what: &str, wanted: impl Fn(&State) -> bool) -> State {
        let newest = async {
            loop {
                if let Some(state) = self.state.as_ref().filter(|state| wanted(state)) {
                    return state.clone();
                }
                if let FromWorker::State(state) = self.client.next().await.expect("the worker is there") {
                    self.state = Some(state);
                }
            }
        };
        let found = timeout(patience, newest).await;
        found.unwrap_or_else(|_| panic!("waited {patience:?} in vain until {what}: {:#?}", self.state))
    }

    pub fn process(&self) -> Pid {
        Pid::from_raw(self.client.process().unwrap().cast_signed()).unwrap()
    }

    pub async fn leave(&self) {
        // It may end before it has answered.
        let _ending = self.client.sender().command(0, Command::Shutdown).await;
    }

    /// Waits until the worker has ended, and starts another.
    pub async fn resume(&mut self) {
        let ends = async { while self.client.next().await.is_some() {} };
        timeout(PATIENCE, ends).await.expect("the worker ends");
        self.client = self.launcher.reach(&self.id, 0).await.unwrap();
        self.state = None;
    }
}

/// The model that `--model` would name so.
pub fn model(name: &str) -> ModelRef {
    let (provider, model) = name.split_once('/').unwrap();
    ModelRef::new(provider, model)
}
