//! A program that is asked something beside a thread's tools, such as a handler of the pipeline: JSON in, JSON out.

use super::Environment;
use super::command::{Ended, Finished, Keeper, Launch, ending};
use super::keeper::{Order, serves_again};
use super::reusable_keeper::{ReusableKeeper, Run};
use super::sandbox::Confinement;
use crate::domain::Persona;
use crate::domain::event::Process;
use crate::ports::ToolListener;
use crate::ports::tools::Waiting;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// The longest answer, in bytes.
const LONGEST_ANSWER: usize = 4 << 20;

/// What is kept of what it says beside its answer, in bytes.
const SAID: usize = 2 << 10;

/// A program, and where it runs.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program and its arguments.
    pub words: Vec<String>,
    pub folder: PathBuf,
    pub environment: Environment,
    pub keeper: Keeper,
    pub confinement: Option<Confinement>,
}

/// Nobody hears what it prints meanwhile, and its process is in no log: its keeper ends it.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl ToolListener for Alone {
    fn said(&self, _text: String) {}

    fn started(&self, _process: Process) -> Waiting<'_, bool> {
        Box::pin(std::future::ready(true))
    }

    fn becomes(&self, _persona: Option<Persona>) -> Waiting<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A program that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// What it printed, as far as it is kept.
    pub output: Vec<u8>,
    /// What it said on its error output; the middle of a long text is left out.
    pub said: String,
    /// None where a signal ended it.
    pub code: Option<i32>,
    /// It was ended because it took too long.
    pub too_long: bool,
}

impl Program {
    /// Runs it with this input to its end, `longest` at most. Losing the future ends the program with all that it started.
    ///
    /// # Errors
    /// Why it could not be started.
    pub async fn run(&self, input: Option<Vec<u8>>, longest: Duration) -> Result<Ran, String> {
        let finished = self.keeper.run(self.launch(input, longest), std::future::pending(), &Alone).await;
        let finished = finished.map_err(|failed| failed.0)?;
        let code = if let Ended::Itself(status) = &finished.ended { status.code() } else { None };
        let too_long = matches!(finished.ended, Ended::TooLong);
        let said = finished.output.finish(|_spilled| String::new());
        Ok(Ran { output: finished.result, said, code, too_long })
    }

    pub(super) fn launch(&self, input: Option<Vec<u8>>, longest: Duration) -> Launch<'_> {
        Launch {
            words: self.words.iter().map(Into::into).collect(),
            folder: &self.folder,
            environment: &self.environment,
            variables: Vec::new(),
            input,
            confinement: self.confinement.clone(),
            longest,
            spill: None,
            apart: true,
            whole: false,
        }
    }

    /// A keeper that asks this program and others of the same environment, one after another.
    ///
    /// # Errors
    /// Why it could not be started.
    pub fn keeper(&self) -> Result<ReusableKeeper, String> {
        match &self.keeper {
            Keeper::Process(program) => ReusableKeeper::start(program, &self.folder, &self.environment),
            Keeper::Absent => Err("nobody here could start it".to_owned()),
        }
    }

    /// Whether a keeper that has asked it can ask another one.
    #[must_use]
    pub fn keeper_is_reusable(&self) -> bool {
        serves_again(self.confinement.as_ref())
    }

    /// Gives it, by this keeper, `question` on its input and reads its answer, with what it said on its error output. An empty
    /// answer is null. With it comes the keeper, if it can be asked again. Losing the future ends the program with all that it
    /// started.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask(
        &self,
        keeper: ReusableKeeper,
        question: &Value,
    ) -> (Result<(Value, String), String>, Option<ReusableKeeper>) {
        let question = question.to_string().into_bytes();
        let (words, folder, confinement) = (self.words.clone(), self.folder.clone(), self.confinement.clone());
        let order = Order { words, folder, confinement };
        let run = match keeper.run(&order, &question).await {
            // Somebody ended it while it waited.
            Run::NotTaken(_) => match self.keeper() {
                Ok(another) => another.run(&order, &question).await,
                Err(error) => return (Err(error), None),
            },
            run @ Run::Ended(..) => run,
        };
        let (finished, keeper) = match run {
            Run::Ended(finished, keeper) => (finished, keeper),
            Run::NotTaken(why) => (Err(why), None),
        };
        (finished.map_err(|failed| failed.0).and_then(|finished| self.answer(finished)), keeper)
    }

    fn answer(&self, finished: Finished) -> Result<(Value, String), String> {
        let name = self.words.first().map_or("", String::as_str);
        let said = finished.output.finish(|_spilled| String::new());
        let said = said.get(said.ceil_char_boundary(said.len().saturating_sub(SAID))..).unwrap_or_default().to_owned();
        // Whoever waits for too long loses the future, so nothing here ended it.
        if let Some(how) = ending(&finished.ended, Duration::ZERO) {
            let why = said.lines().last().unwrap_or_default().trim();
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            return Err(format!("`{name}` failed ({how}){why}"));
        }
        let answer = finished.result;
        if answer.len() > LONGEST_ANSWER {
            return Err(format!("`{name}` answered more than {} MB", LONGEST_ANSWER >> 20));
        }
        if answer.iter().all(u8::is_ascii_whitespace) {
            return Ok((Value::Null, said));
        }
        match serde_json::from_slice(&answer) {
            Ok(value) => Ok((value, said)),
            Err(error) => Err(format!("`{name}` did not answer with JSON: {error}")),
        }
    }
}
