//! Looking for the layer that makes a check of the answer come out otherwise, as `levain context bisect` does: in a process
//! of its own, since this one calls no model and runs no command.

use crate::session::{Setup, program};
use crate::workbench::Message;
use crate::workbench::bisect_list::{BisectAsked, BisectNews};
use serde::Deserialize;
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc;

/// What it says with `--plan --json`.
#[derive(Deserialize)]
struct Plan {
    told: String,
}

/// What it says with `--json`.
#[derive(Deserialize)]
struct Found {
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
struct Layer {
    id: String,
}

/// Tells what it takes, or with `begins` does it and tells how it goes.
pub(super) async fn ask(setup: Arc<Setup>, asked: BisectAsked, begins: bool, messages: mpsc::Sender<Message>) {
    let news = match run(&setup, &asked, begins, &messages).await {
        Err(error) => BisectNews::Found(Err(format!("it could not be run: {error}"))),
        Ok((Some(text), last)) if begins => {
            let found = serde_json::from_slice::<Found>(&text).map_err(|_error| last);
            BisectNews::Found(found.map(|found| found.layers.into_iter().map(|layer| layer.id).collect()))
        }
        Ok((Some(text), last)) => {
            BisectNews::Plan(serde_json::from_slice::<Plan>(&text).map(|plan| plan.told).map_err(|_error| last))
        }
        Ok((None, last)) if begins => BisectNews::Found(Err(last)),
        Ok((None, last)) => BisectNews::Plan(Err(last)),
    };
    let _ending = messages.send(Message::Bisect(asked, news)).await;
}

/// What it printed where it found something, and the last thing that it told beside that.
async fn run(
    setup: &Setup,
    asked: &BisectAsked,
    begins: bool,
    messages: &mpsc::Sender<Message>,
) -> io::Result<(Option<Vec<u8>>, String)> {
    let request = format!("{}#{}", asked.thread_id, asked.number);
    let mut child = Command::new(program()?)
        .args(["context", "bisect", &request, "--json", if begins { "--yes" } else { "--plan" }])
        .arg("--check")
        .arg(&asked.check)
        .arg("--project")
        .arg(&setup.project.root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let told = async {
        let mut last = String::new();
        let Some(stderr) = stderr else { return last };
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            // A hint is for the command line, and says less than the mistake above it.
            if !line.starts_with("hint: ") {
                last = line.trim_start_matches("error: ").to_owned();
                let _ending = messages.send(Message::Bisect(asked.clone(), BisectNews::Line(last.clone()))).await;
            }
        }
        last
    };
    let found = async {
        let mut text = Vec::new();
        if let Some(mut stdout) = stdout {
            stdout.read_to_end(&mut text).await?;
        }
        Ok::<_, io::Error>(text)
    };
    let (last, text) = tokio::join!(told, found);
    let (status, text) = (child.wait().await?, text?);
    Ok((status.success().then_some(text), last))
}
