//! A thread's log as a document.

use super::notices::{failed, notice};
use crate::domain::ThreadId;
use crate::ports::{Clock as _, StoreError, SystemClock};
use crate::session::pi_export;
use crate::store::summary::Summary;
use crate::store::{self, Layout, log};
use crate::workbench::transcript::Transcript;
use crate::workbench::{ExportForm, Level, Message, export};
use crate::worker::host::REPLAY;
use std::io::{self, Write};
use std::path::PathBuf;

/// Why a thread was not written out.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the whole thread in `form`.
///
/// # Errors
/// [`ExportError`].
pub fn write(layout: &Layout, id: &ThreadId, form: ExportForm, output: &mut dyn Write) -> Result<(), ExportError> {
    let log = layout.log(id)?;
    if form == ExportForm::JsonLines {
        let bytes = log.bytes()?.ok_or_else(|| StoreError::NoSuchThread { id: id.to_string() })?;
        io::copy(&mut { bytes }, output)?;
        return Ok(output.flush()?);
    }
    if form == ExportForm::Pi {
        for line in pi_export::lines(layout, id, SystemClock.now())? {
            writeln!(output, "{line}")?;
        }
        return Ok(output.flush()?);
    }
    let mut transcript = Transcript::default();
    for page in log::pages(&log) {
        page?.into_records().for_each(|record| transcript.apply(record));
    }
    let Summary { directive, model, capabilities, .. } = Summary::look(layout, id, REPLAY.summary)?;
    let about = export::about(&directive, &model, &capabilities);
    let text = match form {
        ExportForm::Html => export::html(&transcript, id.as_str(), &about),
        ExportForm::Markdown | ExportForm::JsonLines | ExportForm::Pi => {
            format!("# {id}\n\n{about}{}", export::markdown(transcript.iter()))
        }
    };
    output.write_all(text.as_bytes())?;
    Ok(output.flush()?)
}

/// Writes the thread into a file of its name in the project's folder and tells which. An earlier export is replaced.
///
/// # Errors
/// [`ExportError`].
pub fn to_project(layout: &Layout, id: &ThreadId, form: ExportForm) -> Result<PathBuf, ExportError> {
    let path = layout.project().join(format!("{id}.{}", form.ending()));
    let mut file = tempfile::NamedTempFile::new_in(layout.project())?;
    write(layout, id, form, &mut file)?;
    file.persist(&path).map_err(io::Error::from)?;
    Ok(path)
}

/// Writes the registry and the budget ledger for other programs, and tells where.
pub(super) fn registry(layout: &Layout) -> Message {
    match store::export::write(layout, SystemClock.now(), REPLAY) {
        Ok([registry, ledger]) => {
            notice(Level::Info, format!("written to {} and {}", registry.display(), ledger.display()))
        }
        Err(error) => failed(&error),
    }
}
