//! Starting directives in threads of their own, and looking after those threads.

use super::{Answer, Failed, ToolContext};
use crate::domain::attachment::TRANSCRIPTS;
use crate::domain::{Limits, Money, Operation, ThreadId, Tokens, ToolCall, Values};
use crate::ports::ToolListener;
use crate::ports::threads::{ChildRequest, ChildStarted};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The arguments of `thread_directive`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ThreadDirective {
    #[serde(alias = "directive_id")]
    directive_name: String,
    #[serde(default)]
    inputs: Option<Value>,
    #[serde(default, rename = "async")]
    background: bool,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    limit_overrides: Option<LimitOverrides>,
}

/// Limits as a model writes them.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LimitOverrides {
    turns: Option<u32>,
    tokens: Option<u64>,
    /// US dollars.
    spend: Option<f64>,
    spawns: Option<u32>,
    depth: Option<u32>,
    duration_seconds: Option<u64>,
}

impl LimitOverrides {
    fn limits(self) -> Result<Limits, Failed> {
        let Self { turns, tokens, spend, spawns, depth, duration_seconds } = self;
        if spend.is_some_and(|spend| !spend.is_finite() || spend < 0.0) {
            return Err(Failed("`spend` is an amount in dollars, such as 0.50.".to_owned()));
        }
        let (tokens, spend) = (tokens.map(Tokens), spend.map(Money::from_dollars));
        Ok(Limits { turns, tokens, spend, duration_seconds, spawns, depth })
    }
}

/// Inputs as texts.
fn values(inputs: Option<&Value>) -> Result<Values, Failed> {
    let inputs: Map<String, Value> = super::arguments(ToolCall::parameters(inputs))?;
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(inputs.into_iter().map(|(name, value)| (name, text(value))).collect())
}

/// Runs a directive in a thread of its own.
pub(super) async fn start(context: &ToolContext, arguments: ThreadDirective, listener: &dyn ToolListener) -> Answer {
    let ThreadDirective { directive_name, inputs, background, model, limit_overrides } = arguments;
    let request = ChildRequest {
        directive: directive_name,
        inputs: values(inputs.as_ref())?,
        model,
        limits: limit_overrides.unwrap_or_default().limits()?,
        background,
    };
    start_child(context, request, listener).await
}

/// What `rye/execute` starts where it is asked for a thread.
pub(super) async fn fork(
    context: &ToolContext,
    directive: String,
    inputs: Option<&Value>,
    background: bool,
    listener: &dyn ToolListener,
) -> Answer {
    let inputs = values(inputs)?;
    let request = ChildRequest { directive, inputs, model: None, limits: Limits::default(), background };
    start_child(context, request, listener).await
}

async fn start_child(context: &ToolContext, request: ChildRequest, listener: &dyn ToolListener) -> Answer {
    let threads = context.threads.as_ref().ok_or_else(|| Failed("No threads can be started from here.".to_owned()))?;
    let directive = request.directive.clone();
    match threads
        .start(request, listener)
        .await
        .map_err(|why| Failed(format!("`{directive}` was not started: {why}")))?
    {
        ChildStarted::Background { thread_id, pid } => Ok(json!({
            "success": true,
            "thread_id": thread_id,
            "status": "running",
            "directive": directive,
            "pid": pid,
        })
        .to_string()),
        ChildStarted::Ended(result) => {
            let text = serde_json::to_string(&result).unwrap_or_default();
            // People read the last line.
            if result.success || result.suspended { Ok(text) } else { Err(Failed(text)) }
        }
    }
}

/// What was said in a thread, which is read as the knowledge item of its id.
pub(super) async fn transcript(context: &ToolContext, id: ThreadId) -> Answer {
    let threads = context.threads.as_ref().ok_or_else(|| Failed("No threads can be reached from here.".to_owned()))?;
    let told = format!("knowledge `{TRANSCRIPTS}{id}`, the transcript of a thread");
    match threads.transcript(id).await {
        Ok(text) => Ok(format!("{told}\n\n{text}")),
        Err(why) => Err(Failed(format!("{why}."))),
    }
}

/// Does something with the threads of the tree.
pub(super) async fn orchestrate(context: &ToolContext, operation: Operation) -> Answer {
    let threads = context.threads.as_ref().ok_or_else(|| Failed("No threads can be reached from here.".to_owned()))?;
    match threads.operate(operation).await {
        Ok(answer) => Ok(answer.to_string()),
        Err(why) => Err(Failed(json!({ "success": false, "error": why }).to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_the_names_that_people_write() {
        let read = |value: Value| super::super::arguments::<ThreadDirective>(value).map_err(|failed| failed.0);
        let both = [json!({"directive_name": "a"}), json!({"directive_id": "a", "async": true, "inputs": {"n": 1}})];
        for value in both {
            assert_eq!(read(value).ok().map(|read| read.directive_name).as_deref(), Some("a"));
        }
        let unknown = read(json!({"directive_name": "a", "parent_depth": 3})).err().unwrap();
        assert!(unknown.contains("parent_depth"), "{unknown}");
        let spend = LimitOverrides { spend: Some(f64::NAN), ..LimitOverrides::default() };
        assert!(spend.limits().is_err());
        assert_eq!(
            values(Some(&json!({"n": 1, "t": "x"}))).unwrap(),
            Values::from([("n".into(), "1".into()), ("t".into(), "x".into())])
        );
    }
}
