//! Models whose answers come from the code of an extension: asked in the engine of the thread.

use super::extension_handlers::ExtensionHandlers;
use super::extension_models::of_pi;
use crate::extensions::{Answer, Ask};
use crate::providers::{ExtensionEvents, ExtensionStreams};
use futures_util::stream;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

impl ExtensionStreams for ExtensionHandlers {
    fn stream(&self, path: PathBuf, mut arguments: Value) -> ExtensionEvents {
        if let Some(provider) = arguments.get("provider").and_then(Value::as_str).map(of_pi) {
            arguments["provider"] = provider.into();
        }
        let Some(engine) = self.engine() else {
            let why = format!("the extension {} is not loaded in this thread", path.display());
            return Box::pin(stream::once(std::future::ready(Err(why))));
        };
        // A project gets no key, whatever it is trusted with.
        if arguments.pointer("/options/apiKey").is_some() && self.are_of_project() {
            let why =
                "extensions of this project run beside it and could read its key; ask it where they are not loaded";
            let why = format!("the provider of {} is not asked: {why}", path.display());
            return Box::pin(stream::once(std::future::ready(Err(why))));
        }
        let (said, heard) = mpsc::unbounded_channel();
        let asked = Box::pin(async move { engine.ask(Ask::Stream { path, arguments, said }, false).await });
        let answering = Arc::clone(&self.thread.answering);
        let state = (heard, Some(asked), VecDeque::new(), answering);
        Box::pin(stream::unfold(state, |(mut heard, mut asked, mut ready, answering)| async move {
            if let Some(under_way) = &mut asked {
                let ended = tokio::select! {
                    biased;
                    Some(event) = heard.recv() => return Some((Ok(event), (heard, asked, ready, answering))),
                    ended = under_way => ended,
                };
                asked = None;
                // Everything was said before it ended.
                while let Ok(event) = heard.try_recv() {
                    ready.push_back(Ok(event));
                }
                ready.push_back(match ended {
                    Ok((Answer { error: Some(problem), .. }, _)) => Err(problem.to_string()),
                    Ok((Answer { result, .. }, _)) => Ok(json!({"type": "result", "message": result})),
                    Err(gone) => Err(gone.to_string()),
                });
            }
            ready.pop_front().map(|event| (event, (heard, asked, ready, answering)))
        }))
    }
}
