//! The to-do list of a thread: the steps of its work, which a model writes down and keeps up to date.
//!
//! It is one of the values that the thread keeps ([`StateStore`]), under [`TodoList::NAME`]: hooks read it as
//! `${state.todo}`, a fork and a thread that goes on have it too.

use super::state_store::StateStore;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// As many tasks a list may have.
const MOST: usize = 50;

/// As many letters of a task are kept.
const LONGEST: usize = 200;

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    #[default]
    Pending,
    #[serde(alias = "in_progress")]
    Active,
    #[serde(alias = "completed")]
    Done,
}

/// A step of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    #[serde(alias = "content")]
    pub text: String,
    #[serde(default, alias = "status")]
    pub progress: Progress,
}

/// The steps of a thread's work, in the order they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TodoList {
    pub tasks: Vec<Task>,
}

impl TodoList {
    /// Under which name the thread keeps it.
    pub const NAME: &str = "todo";

    /// Reads a list of tasks as a model writes it; each is an object, or only its text.
    ///
    /// # Errors
    /// What does not fit, in a sentence.
    pub fn read(tasks: &[Value]) -> Result<Self, String> {
        if tasks.len() > MOST {
            return Err(format!("a to-do list has {MOST} tasks at most, this one has {}", tasks.len()));
        }
        let task = |(index, value): (usize, &Value)| {
            let task = match value {
                Value::String(text) => Task { text: text.clone(), progress: Progress::Pending },
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    Task::deserialize(value).map_err(|error| format!("task {}: {error}", index + 1))?
                }
            };
            // One line each, so that they stand below each other.
            let text: String =
                task.text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST).collect();
            if text.is_empty() { Err(format!("task {} has no text", index + 1)) } else { Ok(Task { text, ..task }) }
        };
        Ok(Self { tasks: tasks.iter().enumerate().map(task).collect::<Result<_, _>>()? })
    }

    /// The list that a thread keeps; none where it keeps none, or something else under that name.
    #[must_use]
    pub fn of(kept: &StateStore) -> Option<Self> {
        kept.iter().find(|(name, _)| *name == Self::NAME).and_then(|(_, value)| Self::of_value(value))
    }

    /// The list that these new values bring; [`None`] where they leave it as it was.
    #[must_use]
    pub fn set_by(values: &Map<String, Value>) -> Option<Self> {
        values.get(Self::NAME).map(|value| Self::of_value(value).unwrap_or_default())
    }

    fn of_value(value: &Value) -> Option<Self> {
        Self::read(value.as_array()?).ok().filter(|list| !list.tasks.is_empty())
    }

    /// As the thread keeps it: with no task, nothing.
    #[must_use]
    pub fn value(&self) -> Value {
        if self.tasks.is_empty() { Value::Null } else { serde_json::to_value(self).unwrap_or_default() }
    }

    /// Tasks that are done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.tasks.iter().filter(|task| task.progress == Progress::Done).count()
    }

    /// Whether something is left to do.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.done() < self.tasks.len()
    }

    /// A line each, with its mark.
    #[must_use]
    pub fn words(&self) -> String {
        let mut text = String::new();
        for Task { text: task, progress } in &self.tasks {
            let mark = match progress {
                Progress::Pending => "[ ]",
                Progress::Active => "[>]",
                Progress::Done => "[x]",
            };
            // Writing to a text does not fail.
            let _written = writeln!(text, "{mark} {task}");
        }
        text
    }

    /// In one line: how much is done, and what is being done.
    #[must_use]
    pub fn summary(&self) -> String {
        let active = self.tasks.iter().find(|task| task.progress == Progress::Active);
        let active = active.map(|task| format!(", now: {}", task.text)).unwrap_or_default();
        format!("{} of {} done{active}", self.done(), self.tasks.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(tasks: &Value) -> Result<TodoList, String> {
        TodoList::read(tasks.as_array().unwrap())
    }

    #[test]
    fn a_list_reads_in_the_forms_that_models_write() {
        let list = read(&json!([
            { "text": "look", "progress": "done" },
            { "content": "write\n it", "status": "in_progress" },
            "test",
        ]))
        .unwrap();
        assert_eq!(list.words(), "[x] look\n[>] write it\n[ ] test\n");
        assert_eq!(list.summary(), "1 of 3 done, now: write it");
        assert!(list.is_open());
    }

    #[test]
    fn what_does_not_fit_is_refused_by_its_number() {
        assert_eq!(read(&json!(["a", " "])).unwrap_err(), "task 2 has no text");
        let error = read(&json!([{ "text": "a", "progress": "soon" }])).unwrap_err();
        assert!(error.starts_with("task 1: unknown variant `soon`"), "{error}");
        let many: Vec<Value> = (0..=MOST).map(|task| json!(task.to_string())).collect();
        assert_eq!(TodoList::read(&many).unwrap_err(), "a to-do list has 50 tasks at most, this one has 51");
    }

    #[test]
    fn it_is_a_value_of_the_thread() {
        let mut kept = StateStore::default();
        let list = read(&json!(["a"])).unwrap();
        let values = Map::from_iter([(TodoList::NAME.to_owned(), list.value())]);
        kept.set(&values);
        assert_eq!(TodoList::of(&kept), Some(list.clone()));
        assert_eq!(TodoList::set_by(&values), Some(list));
        let none = Map::from_iter([(TodoList::NAME.to_owned(), TodoList::default().value())]);
        kept.set(&none);
        assert_eq!((TodoList::of(&kept), TodoList::set_by(&none)), (None, Some(TodoList::default())));
        // What a hook keeps there is left alone.
        kept.set(&Map::from_iter([(TodoList::NAME.to_owned(), json!("x"))]));
        assert_eq!(TodoList::of(&kept), None);
        assert_eq!(TodoList::set_by(&Map::new()), None);
    }
}
