//! `levain mcp login` and `logout`: signing in to servers that ask for it, and forgetting that.

use super::{servers, trusted, unknown};
use crate::cli::failure::{Failure, written};
use crate::cli::{browser, runtime};
use crate::session::people::{err, json_line, out};
use crate::session::{Setup, secrets};
use crate::tools::mcp::{Login, LoginOptions, OwnClient, SERVERS, Server};
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// How long somebody may take in their browser where nothing is said.
const PATIENCE: u64 = 300;

#[derive(Debug, Args)]
pub(super) struct LoginArguments {
    /// The server
    #[arg(value_name = "NAME")]
    name: String,
    /// Print the address only; open no browser
    #[arg(long)]
    no_browser: bool,
    /// Seconds to wait for you
    #[arg(long, value_name = "SECONDS", default_value_t = PATIENCE)]
    wait: u64,
    /// The port of 127.0.0.1 that the browser comes back to, where it has to be a certain one
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// A client that you registered at the authorization server, in the place of one that levain registers
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The variable that holds the secret of that client
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    client_secret: Option<String>,
    /// What to ask for besides what the server names
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn login(setup: &Setup, arguments: &LoginArguments) -> Result<ExitCode, Failure> {
    let LoginArguments { name, no_browser, wait, port, client_id, client_secret, scope, json } = arguments;
    trusted(setup, name)?;
    let items = setup.items();
    if !servers(&items).iter().any(|(other, _)| other == name) {
        return Err(unknown(&items, name).into());
    }
    let (server, _) = Server::find(&items, &format!("{SERVERS}{name}")).map_err(Failure::new)?;
    let secret = client_secret.as_ref().map(|variable| {
        let unset =
            || Failure::usage(format!("the variable {variable} is not set")).hint("set it to the secret of the client");
        secrets::var(variable).filter(|secret| !secret.is_empty()).ok_or_else(unset)
    });
    let client = match (client_id, secret.transpose()?) {
        (Some(id), secret) => Some(OwnClient { id: id.clone(), secret }),
        (None, _) => None,
    };
    let options = LoginOptions { client, port: *port, scopes: scope.clone() };
    let ask = async {
        let login = Login::begin(&server, &setup.environment(), &setup.tokens(), options).await?;
        let told = writeln!(err(), "open this address to sign in to {name}:\n\n{}\n", login.address);
        told.map_err(|error| error.to_string())?;
        if !no_browser && browser::open(&login.address) {
            let _closed = writeln!(err(), "your browser is asked to open it");
        }
        let _closed = writeln!(err(), "waiting for it at 127.0.0.1:{}, at most {wait} s; Ctrl-C leaves", login.port);
        login.finish(Duration::from_secs(*wait)).await
    };
    runtime()?.block_on(ask).map_err(Failure::new)?;
    let mut output = out();
    written(if *json {
        json_line(&mut output, &json!({ "schema": "levain.mcp_login/1", "name": name, "signed_in": true }))
    } else {
        writeln!(output, "signed in to {name}; levain mcp logout {name} forgets it")
    })?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn logout(setup: &Setup, names: &[String], json: bool) -> Result<ExitCode, Failure> {
    for name in names {
        let failed =
            |error: std::io::Error| Failure::new(format!("the token for {name} could not be forgotten: {error}"));
        let gone = setup.tokens().forget(&format!("{SERVERS}{name}")).map_err(failed)?;
        let mut output = out();
        written(if json {
            json_line(&mut output, &json!({ "schema": "levain.mcp_logout/1", "name": name, "forgotten": gone }))
        } else if gone == 0 {
            writeln!(output, "{name}: you were not signed in")
        } else {
            writeln!(output, "{name}: forgotten; the server may know its token until that expires")
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
