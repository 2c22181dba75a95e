//! `levain keys`: the key one signs with, and the keys one trusts.

use super::Common;
use super::failure::{Failure, written};
use crate::items::signature::{KeyError, SigningKey, TrustStore, fingerprint, read_public};
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct KeysArguments {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a key to sign with, and trust it
    Generate {
        /// Whose key it is
        #[arg(long, value_name = "NAME", default_value = "me")]
        owner: String,
    },
    /// Take over a private key from a PEM file, and trust it
    Import {
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[arg(long, value_name = "NAME", default_value = "me")]
        owner: String,
    },
    /// Trust what somebody's key signed
    Trust {
        /// Their public key: a PEM file, or the file of a trusted key
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Whose key it is
        #[arg(long, value_name = "NAME")]
        owner: String,
        /// For this project only, instead of everywhere
        #[arg(long)]
        here: bool,
    },
    /// List the keys
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
}

/// A line of `--json`.
#[derive(Serialize)]
struct KeyLine<'a> {
    schema: &'static str,
    fingerprint: &'a str,
    owner: &'a str,
    /// Whether it is the key one signs with.
    own: bool,
    space: &'static str,
    path: &'a Path,
}

fn project_space(setup: &Setup) -> PathBuf {
    setup.project.root.join(".ai")
}

pub(super) fn run(common: &Common, arguments: &KeysArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let space = setup.user_space();
    let failed = |error: KeyError| Failure::new(error.to_string());
    match &arguments.command {
        KeysCommand::Generate { owner } => {
            own(&SigningKey::generate(&space).map_err(failed)?, &space, owner, "made")?;
        }
        KeysCommand::Import { file, owner } => {
            own(&SigningKey::import(file, &space).map_err(failed)?, &space, owner, "took over")?;
        }
        KeysCommand::Trust { file, owner, here } => {
            let pem = read_public(file).map_err(failed)?;
            let space = if *here { project_space(&setup) } else { space };
            let path = TrustStore::trust(&space, &pem, owner).map_err(failed)?;
            written(writeln!(out(), "trusting {} of {owner}: {}", fingerprint(&pem), path.display()))?;
            if *here && !setup.trust().allows() {
                let _closed = writeln!(err(), "it counts once you trust the project: levain trust");
            }
        }
        KeysCommand::List { json } => list(&setup, &space, *json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// One's own key is trusted without further ado: a first signature must not fail on its maker.
fn own(key: &SigningKey, space: &Path, owner: &str, done: &str) -> Result<(), Failure> {
    TrustStore::trust(space, key.public_pem(), owner).map_err(|error| Failure::new(error.to_string()))?;
    let folder = space.join("config/keys/signing");
    written(writeln!(out(), "{done} the key {} in {}", key.fingerprint(), folder.display()))
}

fn list(setup: &Setup, user: &Path, json: bool) -> Result<(), Failure> {
    let own = SigningKey::load(user).ok().map(|key| key.fingerprint());
    let mut output = out();
    let mut any = false;
    for (space, folder) in [("project", project_space(setup)), ("user", user.to_owned())] {
        let (store, errors) = TrustStore::read(&[folder]);
        for error in errors {
            let _closed = writeln!(err(), "warning: {error}");
        }
        for key in store.iter() {
            any = true;
            let is_own = own.as_deref() == Some(key.fingerprint.as_str());
            written(if json {
                let line = KeyLine {
                    schema: "levain.key/1",
                    fingerprint: &key.fingerprint,
                    owner: &key.owner,
                    own: is_own,
                    space,
                    path: &key.path,
                };
                json_line(&mut output, &line)
            } else {
                let mark = if is_own { "  (you sign with it)" } else { "" };
                writeln!(output, "{}  {:<8} {}{mark}", key.fingerprint, space, key.owner)
            })?;
        }
    }
    if !any && !json {
        let _closed = writeln!(err(), "no keys yet; make one with: levain keys generate");
    }
    Ok(())
}
