//! Asking the MCP servers of the project and the person, for the screen.

use crate::session::Setup;
use crate::session::servers::{self, ServerError, ServerLine};
use crate::workbench::Message;
use crate::workbench::message::{ServerRow, ServersAsked};
use futures_util::future::join_all;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Asks what is asked, and tells how the servers stand then.
pub(super) async fn ask(setup: Arc<Setup>, asked: ServersAsked, messages: mpsc::Sender<Message>) {
    let rows = stand(setup, asked).await;
    let _ending = messages.send(Message::Servers(rows)).await;
}

async fn stand(setup: Arc<Setup>, asked: ServersAsked) -> Result<Vec<ServerRow>, String> {
    let look = Arc::clone(&setup);
    let known = tokio::task::spawn_blocking(move || servers::all(&look)).await.map_err(|error| error.to_string())?;
    let rows = known.into_iter().map(|line| {
        let (setup, asked) = (&setup, &asked);
        async move {
            let done = match asked {
                ServersAsked::Test(None) => test(setup, &line.name).await,
                ServersAsked::Test(Some(name)) if *name == line.name => test(setup, name).await,
                ServersAsked::Refresh(name) if *name == line.name => refresh(setup, name).await,
                ServersAsked::Known | ServersAsked::Test(Some(_)) | ServersAsked::Refresh(_) => {
                    return row(&line, false);
                }
            };
            match done {
                Ok(asked) => row(&asked, true),
                Err(ServerError { message, hint }) => {
                    let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                    row(&ServerLine { error: Some(format!("{message}{hint}")), ..line }, true)
                }
            }
        }
    });
    let all = join_all(rows).await;
    if let ServersAsked::Test(Some(name)) | ServersAsked::Refresh(name) = &asked
        && !all.iter().any(|row| row.name == *name)
    {
        return Err(servers::unknown(&setup.items(), name).message);
    }
    Ok(all)
}

async fn test(setup: &Setup, name: &str) -> Result<ServerLine, ServerError> {
    servers::trusted(setup, name)?;
    Ok(servers::ask(setup, name).await?.0)
}

async fn refresh(setup: &Setup, name: &str) -> Result<ServerLine, ServerError> {
    servers::trusted(setup, name)?;
    servers::refresh(setup, name).await
}

fn row(line: &ServerLine, asked: bool) -> ServerRow {
    let ServerLine { name, space, transport, reached, tools, tokens, .. } = line;
    let state = match (&line.error, asked) {
        (Some(_), true) => "cannot be reached",
        (Some(_), false) => "cannot be used",
        (None, true) => "answers",
        (None, false) => "not asked now",
    };
    let mut about = vec![("reached by", reached.clone())];
    if let Some(error) = &line.error {
        about.push(("error", error.clone()));
    }
    about.push(("tools", format!("{tools}, ~{tokens} tokens")));
    let others = [("resources", line.resources), ("prompts", line.prompts)];
    about.extend(others.into_iter().filter_map(|(what, count)| Some((what, count?.to_string()))));
    about.push(("kept", line.discovered_at.clone().unwrap_or_else(|| "never".to_owned())));
    about.extend(line.server.clone().map(|server| ("says it is", server)));
    ServerRow { name: name.clone(), heading: format!("{name} · {state} · {space} · {transport}"), about }
}
