//! The text of a page of the web, made in a process of its own: pages can be nested so deeply that this takes minutes or
//! gigabytes, and nothing but the end of a process stops it.

use super::fetch::Format;
use super::{Answer, Failed};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// A page that is not text by then is given up.
const DEADLINE: Duration = Duration::from_secs(5);

/// What the process may use, in bytes of addresses and seconds of a processor: in case nobody is there to end it.
const MEMORY: u64 = 1 << 30;
const PROCESSOR: u64 = 8;

/// Longest text of a page, in bytes.
const MOST_TEXT: u64 = 4 << 20;

/// Columns of the text.
const WIDTH: usize = 100;

/// The word for [`Format::Text`] on the command line.
const PLAIN: &str = "--plain";

/// Who makes text of pages.
#[derive(Clone, Debug)]
pub enum Reader {
    /// A process of this program, which ends with the page.
    Process(PathBuf),
    /// This process, without any limit.
    #[cfg(test)]
    Here,
}

impl Reader {
    /// The text of a page. Losing this future ends the work.
    pub(super) async fn read(&self, page: Vec<u8>, format: Format) -> Answer {
        let program = match self {
            Self::Process(program) => program,
            #[cfg(test)]
            Self::Here => {
                let mut text = Vec::new();
                made(&page, format == Format::Text, &mut text).map_err(|error| failed(&error))?;
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
        };
        let mut command = Command::new(program);
        command.arg("page").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        if format == Format::Text {
            command.arg(PLAIN);
        }
        let mut child = command.kill_on_drop(true).spawn().map_err(|error| failed(&error))?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (mut input, output) = ends.ok_or_else(|| failed(&io::ErrorKind::BrokenPipe.into()))?;
        let work = async {
            let mut text = Vec::new();
            let mut output = output.take(MOST_TEXT);
            let (given, got) = tokio::join!(
                async move {
                    // One that ended early says so by its status.
                    let _gone = input.write_all(&page).await;
                },
                output.read_to_end(&mut text)
            );
            let () = given;
            got?;
            drop(output);
            Ok::<_, io::Error>((text, child.wait().await?))
        };
        let Ok(ended) = tokio::time::timeout(DEADLINE, work).await else {
            let seconds = DEADLINE.as_secs();
            return Err(Failed(format!(
                "the page could not be made text within {seconds} s: it is nested too deeply. Its HTML can be fetched"
            )));
        };
        let (text, status) = ended.map_err(|error| failed(&error))?;
        if !status.success() && (text.len() as u64) < MOST_TEXT {
            return Err(Failed(
                "the page could not be made text: it takes more than a page may. Its HTML can be fetched".to_owned(),
            ));
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

fn failed(error: &io::Error) -> Failed {
    Failed(format!("the page could not be made text: {error}"))
}

/// The process itself: a page in, its text out. Limits itself first.
///
/// # Errors
/// When the page cannot be read, or either end is gone.
pub fn serve(mut input: impl Read, mut output: impl Write, is_plain: bool) -> io::Result<()> {
    for (resource, most) in [(Resource::As, MEMORY), (Resource::Cpu, PROCESSOR)] {
        // Without a limit there is still the deadline.
        let _as_it_was = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
    let mut page = Vec::new();
    input.read_to_end(&mut page)?;
    made(&page, is_plain, &mut output)?;
    output.flush()
}

fn made(page: &[u8], is_plain: bool, output: &mut impl Write) -> io::Result<()> {
    let text = if is_plain {
        html2text::config::plain_no_decorate().string_from_read(page, WIDTH)
    } else {
        html2text::config::plain().string_from_read(page, WIDTH)
    };
    output.write_all(text.map_err(io::Error::other)?.as_bytes())
}
