//! `levain transcript`: what happened in a thread, and with `--follow` what happens.

use super::failure::{Failure, written};
use super::find;
use super::text::{EventLine, EventWriter};
use super::{Common, runtime};
use crate::app::export::{self, ExportError};
use crate::domain::Record;
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use crate::store::log::{self, ThreadLog};
use crate::workbench::ExportForm;
use crate::worker::protocol::FromWorker;
use clap::Args;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct TranscriptArguments {
    /// The thread, or a part of its id that fits only one
    #[arg(value_name = "ID")]
    id: String,
    /// Go on while a worker runs the thread
    #[arg(long, short)]
    follow: bool,
    /// One JSON object a line, for every event
    #[arg(long)]
    json: bool,
    /// The whole thread as a document
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["json", "follow"])]
    export: Option<TranscriptFormat>,
}

/// A form of a document.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum TranscriptFormat {
    /// Markdown
    Md,
    /// One HTML page
    Html,
    /// The log as it is
    Jsonl,
    /// A session of pi, with all forks of the conversation
    Pi,
}

impl From<TranscriptFormat> for ExportForm {
    fn from(form: TranscriptFormat) -> Self {
        match form {
            TranscriptFormat::Md => Self::Markdown,
            TranscriptFormat::Html => Self::Html,
            TranscriptFormat::Jsonl => Self::JsonLines,
            TranscriptFormat::Pi => Self::Pi,
        }
    }
}

pub(super) fn run(common: &Common, arguments: &TranscriptArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let id = find::thread(&setup, &arguments.id)?;
    if let Some(form) = arguments.export {
        return match export::write(&setup.layout, &id, form.into(), &mut out()) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(ExportError::Io(error)) => written(Err(error)).map(|()| ExitCode::SUCCESS),
            Err(ExportError::Store(error)) => Err(error.into()),
        };
    }
    let own = setup.layout.log(&id)?;
    let mut printer = Printer { writer: EventWriter::default(), json: arguments.json, from: 0, printed: false };
    let mut goes_on = printer.log(&own)?;
    if goes_on && !printer.printed && !arguments.follow {
        let _closed = writeln!(err(), "nothing was said in {id} yet");
    }
    if goes_on && arguments.follow {
        let launcher = setup.launcher()?;
        runtime()?.block_on(async {
            let Ok(mut client) = launcher.find(&id, printer.from).await else { return Ok(()) };
            while goes_on && let Some(message) = client.next().await {
                if let FromWorker::Event { offset, next_offset, record } = message {
                    goes_on = printer.event(&record, offset, next_offset)?;
                }
            }
            Ok::<_, Failure>(())
        })?;
        if goes_on {
            // A worker that ends lets nobody in, and one that died has told nobody what it wrote last.
            printer.log(&own)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a log as far as it goes.
struct Printer {
    writer: EventWriter,
    json: bool,
    /// Where the log goes on behind what was printed.
    from: u64,
    /// Whether there was anything to print.
    printed: bool,
}

impl Printer {
    /// Prints what the log holds by now; false when nobody reads any more.
    fn log(&mut self, own: &ThreadLog) -> Result<bool, Failure> {
        for page in log::pages_from(own, self.from) {
            let page = page?;
            for line in page.lines {
                if let Some(record) = &line.record
                    && !self.event(record, line.offset, line.next_offset)?
                {
                    return Ok(false);
                }
            }
            self.from = page.end;
        }
        Ok(true)
    }

    /// Prints one event, which not every one needs; false when nobody reads any more.
    fn event(&mut self, record: &Record, offset: u64, next_offset: u64) -> Result<bool, Failure> {
        self.from = next_offset;
        let mut text = Vec::new();
        let made = if self.json {
            json_line(&mut text, &EventLine { schema: EventLine::SCHEMA, offset, record })
        } else {
            self.writer.write(&mut text, &record.event)
        };
        self.printed |= !text.is_empty();
        let mut output = out();
        let result = made.and_then(|()| output.write_all(&text)).and_then(|()| output.flush());
        let gone = matches!(&result, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);
        written(result)?;
        Ok(!gone)
    }
}
