//! The edge: an error becomes a sentence, a hint where there is one, and an exit code.

use crate::ports::StoreError;
use crate::session::PlannerError;
use crate::session::people::err;
use crate::session::servers::ServerError;
use crate::session::setup::SetupError;
use std::io::{self, Write};
use std::process::ExitCode;

/// Exit codes, the same for every command.
pub(super) mod code {
    pub(crate) const ERROR: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const LIMIT: u8 = 3;
    pub(crate) const APPROVAL: u8 = 4;
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// Why a command failed.
#[derive(Debug)]
pub(super) struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

impl Failure {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, code: code::ERROR }
    }

    /// Wrong words on the command line.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { code: code::USAGE, ..Self::new(message) }
    }

    #[must_use]
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The sentence, with the next step where there is one.
    pub(super) fn whole(&self) -> String {
        self.hint.as_ref().map_or_else(|| self.message.clone(), |hint| format!("{}: {hint}", self.message))
    }

    /// The sentence.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Prints what went wrong.
    pub(super) fn report(&self) -> ExitCode {
        let mut output = err();
        // Without a standard error there is nobody to tell.
        let _closed = writeln!(output, "error: {}", self.message);
        if let Some(hint) = &self.hint {
            let _closed = writeln!(output, "hint: {hint}");
        }
        ExitCode::from(self.code)
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::DirectivePlanner(_) | SetupError::Project(_) | SetupError::Model(_) => {
                Self::usage(error.to_string())
            }
            SetupError::WorkingFolder(_) | SetupError::Runtime(_) => Self::new(error.to_string()),
        }
    }
}

impl From<PlannerError> for Failure {
    fn from(error: PlannerError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<ServerError> for Failure {
    fn from(ServerError { message, hint }: ServerError) -> Self {
        let failure = Self::new(message);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string())
    }
}

/// The result of writing to standard output: a reader that went away is a normal end.
pub(super) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| Failure::new(format!("could not write to standard output: {error}"))),
    }
}
