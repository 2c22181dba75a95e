//! The person's browser.

use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Has the person's browser open an address; false where there is none.
pub(super) fn open(address: &str) -> bool {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let named = variable("BROWSER").and_then(|all| all.split(':').next().map(str::to_owned));
    let mut words: Vec<OsString> = match named {
        Some(named) => named.split_whitespace().map(Into::into).collect(),
        None if cfg!(target_os = "macos") => vec!["open".into()],
        None if variable("DISPLAY").or_else(|| variable("WAYLAND_DISPLAY")).is_some() => vec!["xdg-open".into()],
        None => return false,
    };
    match words.iter_mut().find(|word| *word == "%s") {
        Some(place) => *place = address.into(),
        None => words.push(address.into()),
    }
    let Some((program, arguments)) = words.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
