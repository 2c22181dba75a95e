//! `levain sign`: put one's name to files.

use super::Common;
use super::failure::{Failure, code, written};
use crate::items::signature::{self, Signature, SigningKey};
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct SignArguments {
    /// Files to sign, with your key, over their whole text
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct SignedLine<'a> {
    schema: &'static str,
    path: &'a Path,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

pub(super) fn run(common: &Common, arguments: &SignArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let key = SigningKey::load(&setup.user_space()).map_err(|error| Failure::new(error.to_string()))?;
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut failures = 0;
    for path in &arguments.files {
        let signed = signature::sign_file(path, &key, &time);
        failures += usize::from(signed.is_err());
        written(tell(path, &signed, arguments.json))?;
    }
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::from(code::ERROR) })
}

fn tell(path: &Path, signed: &Result<Signature, String>, json: bool) -> io::Result<()> {
    let mut output = out();
    match (signed, json) {
        (_, true) => {
            let signature = signed.as_ref().ok();
            let line = SignedLine {
                schema: "levain.signed/1",
                path,
                status: if signed.is_ok() { "signed" } else { "error" },
                fingerprint: signature.map(|signature| signature.fingerprint.as_str()),
                hash: signature.map(|signature| signature.hash.as_str()),
                time: signature.map(|signature| signature.time.as_str()),
                error: signed.as_ref().err().map(String::as_str),
            };
            json_line(&mut output, &line)
        }
        (Ok(signature), false) => writeln!(output, "signed {} by {}", path.display(), signature.fingerprint),
        (Err(error), false) => writeln!(err(), "error: {error}"),
    }
}
