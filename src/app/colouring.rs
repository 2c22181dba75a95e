//! Working out the colours of code in a process of its own: grammars take memory that a process never gives back, so
//! this one ends when nothing was asked for a while. It has no terminal, and a low priority beside what draws.

use crate::ui::Highlighter;
use crate::workbench::Message;
use crate::workbench::code::{Code, Colouring};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// The process ends when it had nothing to do for this long.
const IDLE: Duration = Duration::from_secs(3);

/// Code without an answer by then stays without colours.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A line on the process's input.
#[derive(Serialize, Deserialize)]
struct HighlightRequest<'code> {
    language: Cow<'code, str>,
    text: Cow<'code, str>,
}

/// Asks for colours. While this lives, so does the task that answers.
#[derive(Debug)]
pub(super) struct Colourist {
    codes: mpsc::Sender<Code>,
}

impl Colourist {
    /// Begins to listen; the process is started when there is something to do.
    pub(super) fn start(program: PathBuf, messages: mpsc::Sender<Message>) -> Self {
        // The workbench asks for one piece at a time.
        let (codes, asked) = mpsc::channel(1);
        tokio::spawn(answer(program, asked, messages));
        Self { codes }
    }

    pub(super) fn ask(&self, code: Code) {
        if self.codes.try_send(code).is_err() {
            tracing::warn!("colours were asked for before the last were there");
        }
    }
}

async fn answer(program: PathBuf, mut asked: mpsc::Receiver<Code>, messages: mpsc::Sender<Message>) {
    let mut helper: Option<Helper> = None;
    loop {
        let next = match &helper {
            Some(_) => timeout(IDLE, asked.recv()).await,
            None => Ok(asked.recv().await),
        };
        let Ok(next) = next else {
            if let Some(helper) = helper.take() {
                helper.end().await;
            }
            continue;
        };
        let Some(code) = next else { return };
        let colouring = match colour(&program, &mut helper, &code).await {
            Ok(colouring) => colouring,
            Err(error) => {
                // It may have died of this very code: it is not asked for it again.
                tracing::warn!(%error, "colours of code");
                helper = None;
                Colouring::default()
            }
        };
        if messages.send(Message::Coloured { id: code.id, colouring }).await.is_err() {
            return;
        }
    }
}

async fn colour(program: &Path, helper: &mut Option<Helper>, code: &Code) -> io::Result<Colouring> {
    let helper = match helper {
        Some(helper) => helper,
        None => helper.insert(Helper::start(program)?),
    };
    timeout(ANSWER_WITHIN, helper.colour(code)).await?
}

/// The process.
struct Helper {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Helper {
    fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        // It needs nothing of the environment.
        command.arg("highlight").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn()?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (input, output) = ends.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { child, input, output: BufReader::new(output).lines() })
    }

    async fn colour(&mut self, code: &Code) -> io::Result<Colouring> {
        let asked = HighlightRequest { language: Cow::Borrowed(&code.language), text: Cow::Borrowed(&code.text) };
        let mut line = serde_json::to_vec(&asked)?;
        line.push(b'\n');
        self.input.write_all(&line).await?;
        let answer = self.output.next_line().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(serde_json::from_str(&answer)?)
    }

    /// Lets it end by itself.
    async fn end(self) {
        let Self { mut child, input, output } = self;
        drop((input, output));
        let _ended = timeout(IDLE, child.wait()).await;
    }
}

/// The process itself: a line of code in, a line of colours out, until nothing more comes.
///
/// # Errors
/// When either end is gone.
pub fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let highlighter = Highlighter::default();
    for line in input.lines() {
        let asked: HighlightRequest<'_> = serde_json::from_str(&line?)?;
        serde_json::to_writer(&mut output, &highlighter.colour(&asked.language, &asked.text))?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workbench::code::CodeKind;

    #[test]
    fn a_line_in_is_a_line_out() {
        let asked = HighlightRequest { language: "rust".into(), text: "fn a() {}\n".into() };
        let input = format!("{}\n", serde_json::to_string(&asked).unwrap()).repeat(2);
        let mut output = Vec::new();
        serve(input.as_bytes(), &mut output).unwrap();
        let answers: Vec<Colouring> =
            String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers.len(), 2);
        assert_eq!(answers[0].line(0).first(), Some(&(2, Some(CodeKind::Keyword))));
    }

    #[tokio::test]
    async fn what_cannot_be_coloured_stays_plain() {
        let (sender, mut messages) = mpsc::channel(4);
        let colourist = Colourist::start("/bin/false".into(), sender);
        let id = crate::workbench::code::CodeId::of("rust", "fn");
        colourist.ask(Code { id, language: "rust".into(), text: "fn".into() });
        let Some(Message::Coloured { id: answered, colouring }) = messages.recv().await else { panic!("no answer") };
        assert_eq!((answered, colouring), (id, Colouring::default()));
    }
}
