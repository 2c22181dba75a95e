//! The thread's to-do list, which is one of the values that it keeps.

use super::{Answer, Failed};
use crate::domain::TodoList;
use crate::ports::ToolListener;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[serde(alias = "todos", alias = "items")]
    tasks: Option<Value>,
}

/// Keeps `tasks` in the place of the list there was; without any answers with the list.
pub(super) async fn todo(Arguments { tasks }: Arguments, listener: &dyn ToolListener) -> Answer {
    // Some models write a list as a text.
    let tasks = match tasks {
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other.unwrap_or_default(),
    };
    let values = match &tasks {
        Value::Null => Map::new(),
        Value::Array(tasks) => {
            let list = TodoList::read(tasks).map_err(|why| Failed(format!("Nothing changed: {why}.")))?;
            Map::from_iter([(TodoList::NAME.to_owned(), list.value())])
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err(Failed("`tasks` is a list: all tasks, each with its text and progress.".to_owned()));
        }
    };
    let kept = listener.keeps(values).await.map_err(|why| Failed(format!("Nothing changed: {why}.")))?;
    Ok(TodoList::of(&kept).map_or_else(|| "Nothing is on the list.".to_owned(), |list| list.words()))
}
