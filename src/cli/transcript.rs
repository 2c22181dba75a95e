//! `levain transcript`: what happened in a thread, and with `--follow` what happens.

use super::failure::{Failure, written};
use super::find;
use super::text::{EventLine, EventWriter};
use super::{Common, runtime};
use crate::app::export::{self, ExportError};
use crate::domain::Record;
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use crate::store::log;
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
    let mut writer = EventWriter::default();
    let (mut from, mut printed) = (0, false);
    for page in log::pages(&own) {
        let page = page?;
        from = page.end;
        for line in page.lines {
            if let Some(record) = &line.record
                && !print(&mut writer, record, line.offset, arguments.json, &mut printed)?
            {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
    if !printed && !arguments.follow {
        let _closed = writeln!(err(), "nothing was said in {id} yet");
    }
    if arguments.follow {
        let launcher = setup.launcher()?;
        runtime()?.block_on(async {
            let Ok(mut client) = launcher.find(&id, from).await else { return Ok(()) };
            while let Some(message) = client.next().await {
                if let FromWorker::Event { offset, record, .. } = message
                    && !print(&mut writer, &record, offset, arguments.json, &mut printed)?
                {
                    return Ok(());
                }
            }
            Ok::<_, Failure>(())
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints one event, which not every one needs; false when nobody reads any more.
fn print(
    writer: &mut EventWriter,
    record: &Record,
    offset: u64,
    json: bool,
    printed: &mut bool,
) -> Result<bool, Failure> {
    let mut text = Vec::new();
    let made = if json {
        json_line(&mut text, &EventLine { schema: EventLine::SCHEMA, offset, record })
    } else {
        writer.write(&mut text, &record.event)
    };
    *printed |= !text.is_empty();
    let mut output = out();
    let result = made.and_then(|()| output.write_all(&text)).and_then(|()| output.flush());
    let gone = matches!(&result, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);
    written(result)?;
    Ok(!gone)
}
