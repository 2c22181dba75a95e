//! Handlers whose answers a test writes down, and what each was asked.

use levain::domain::{
    FileOps, HandlerPlace, OfferedCommand, OfferedShortcut, Role, Saw, SessionTold, Stage, Timestamp, ToolCall,
};
use levain::ports::handlers::DEADLINE;
use levain::ports::tools::Waiting;
use levain::ports::{Expansion, Handler, HandlerCall, HandlerReply, Handlers, NotExpanded};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

/// What a handler does when it is asked.
pub enum Reply {
    Says(Value),
    /// The same, once the test lets it.
    SaysLater(Arc<Semaphore>, Value),
    Fails(&'static str),
    /// It may not run.
    Refuses(&'static str),
    Never,
}

type Answer = Box<dyn Fn(&Value) -> Reply + Send + Sync>;

/// See the module. They are asked in the order in which they were added.
#[derive(Default)]
pub struct ScriptedHandlers {
    all: Vec<(Handler, Answer)>,
    templates: Vec<(&'static str, Result<&'static str, NotExpanded>)>,
    commands: Vec<(&'static str, Result<(), &'static str>)>,
    shortcuts: Vec<(&'static str, Result<(), &'static str>)>,
    entries: bool,
    asked: Mutex<Vec<(String, Value)>>,
    ran: Mutex<Vec<(String, String)>>,
    somebody_asked: Notify,
}

impl ScriptedHandlers {
    /// With one that answers by what it gets.
    pub fn that(mut self, id: &str, stage: Stage, answer: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> Self {
        let handler = Handler { id: id.to_owned(), stage, place: None, deadline: DEADLINE, runs: false };
        self.all.push((handler, Box::new(answer)));
        self
    }

    /// With one that always says the same.
    pub fn says(self, id: &str, stage: Stage, answer: Value) -> Self {
        self.that(id, stage, move |_| Reply::Says(answer.clone()))
    }

    /// With one that only listens.
    pub fn listens(self, id: &str, stage: Stage) -> Self {
        self.says(id, stage, Value::Null)
    }

    /// With a skill or a template: what stands for a prompt that begins with `name`.
    pub fn named(mut self, name: &'static str, text: Result<&'static str, NotExpanded>) -> Self {
        self.templates.push((name, text));
        self
    }

    /// With a command of an extension, and what comes of it.
    pub fn command(mut self, name: &'static str, done: Result<(), &'static str>) -> Self {
        self.commands.push((name, done));
        self
    }

    /// With a key of an extension, and what comes of it.
    pub fn shortcut(mut self, key: &'static str, done: Result<(), &'static str>) -> Self {
        self.shortcuts.push((key, done));
        self
    }

    /// With entries of the session: `e1` for the first prompt or answer behind the first message, and so on.
    pub fn knows_entries(mut self) -> Self {
        self.entries = true;
        self
    }

    /// The commands that were run, with their words.
    pub fn ran(&self) -> Vec<(String, String)> {
        self.ran.lock().unwrap().clone()
    }

    /// Who was asked, in order.
    pub fn order(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(id, _)| id.clone()).collect()
    }

    /// Waits until this one was asked so many times.
    pub async fn until_asked(&self, id: &str, times: usize) {
        loop {
            let asked = self.somebody_asked.notified();
            if self.told(id).len() >= times {
                return;
            }
            let waited = tokio::time::timeout(Duration::from_mins(10), asked).await;
            waited.unwrap_or_else(|_| panic!("{id} was not asked {times} times: {:?}", self.order()));
        }
    }

    /// What this one got, each time.
    pub fn told(&self, id: &str) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(one, _)| one == id).map(|(_, event)| event.clone()).collect()
    }
}

impl Handlers for ScriptedHandlers {
    fn at(&self, stage: Stage) -> Vec<Handler> {
        self.all.iter().map(|(handler, _)| handler).filter(|handler| handler.stage == stage).cloned().collect()
    }

    fn ask<'a>(&'a self, handler: &'a Handler, call: &'a HandlerCall) -> Waiting<'a, Result<HandlerReply, String>> {
        self.asked.lock().unwrap().push((handler.id.clone(), call.event.json().into_owned()));
        self.somebody_asked.notify_waiters();
        let (_, answer) = self.all.iter().find(|(known, _)| known == handler).unwrap();
        let reply = answer(&call.event.json());
        let says = |value: Value| {
            Ok(HandlerReply::Answer { value: value.into(), saw: Vec::<Saw>::new(), said: String::new() })
        };
        Box::pin(async move {
            match reply {
                Reply::Says(value) => says(value),
                Reply::SaysLater(may, value) => {
                    may.acquire().await.unwrap().forget();
                    says(value)
                }
                Reply::Fails(why) => Err(why.to_owned()),
                Reply::Refuses(why) => Ok(HandlerReply::Refused { reason: why.to_owned() }),
                Reply::Never => std::future::pending().await,
            }
        })
    }

    fn commands(&self) -> Vec<OfferedCommand> {
        let offered =
            |(name, _): &(&str, _)| OfferedCommand { name: (*name).to_owned(), about: String::new(), completes: false };
        self.commands.iter().map(offered).collect()
    }

    fn shortcuts(&self) -> Vec<OfferedShortcut> {
        let offered = |(key, _): &(&str, _)| OfferedShortcut { key: (*key).to_owned(), about: String::new() };
        self.shortcuts.iter().map(offered).collect()
    }

    fn shortcut(&self, key: String) -> Waiting<'_, Result<(), String>> {
        let (_, done) = self.shortcuts.iter().find(|(known, _)| *known == key).unwrap();
        Box::pin(std::future::ready(done.map_err(str::to_owned)))
    }

    fn session(&self, said: Vec<(Role, Timestamp)>, calls: Vec<ToolCall>) -> Waiting<'_, SessionTold> {
        let ids = (1..).zip(&said).map(|(number, _)| Some(format!("e{number}")).filter(|_| self.entries));
        let named: Vec<_> = ids.collect();
        let entries = named.iter().flatten().map(|id| json!({"type": "message", "id": id})).collect();
        let read = calls.iter().map(|call| call.input["at"].to_string()).collect();
        let files = FileOps { read, ..FileOps::default() };
        Box::pin(std::future::ready(SessionTold { entries, named, files }))
    }

    fn command(&self, name: String, arguments: String) -> Waiting<'_, Result<(), String>> {
        let (_, done) = self.commands.iter().find(|(known, _)| *known == name).unwrap();
        self.ran.lock().unwrap().push((name, arguments));
        Box::pin(std::future::ready(done.map_err(str::to_owned)))
    }

    fn expand(&self, text: String, _runs: bool) -> Waiting<'_, Result<Option<Expansion>, NotExpanded>> {
        let name = text.split_whitespace().next().unwrap_or_default();
        let stage = if name.starts_with("/skill:") { Stage::Skill } else { Stage::Template };
        let found = self.templates.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone());
        let expansion = found.map(|text| {
            let (name, place) = (name.to_owned(), HandlerPlace { file: String::new(), line: None });
            text.map(|text| Expansion { stage, name, place, text: text.to_owned(), said: String::new() })
        });
        Box::pin(std::future::ready(expansion.transpose()))
    }
}
