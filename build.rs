//! Asks the linker for a program that keeps little in memory.
//!
//! Packed addresses: those that are fixed up when the program starts are over a megabyte less to read and to keep for each
//! of its processes. Only what glibc loads since 2.36 can be packed so, so this is for programs that run where they are
//! built; what is shipped (profile `dist`) must start anywhere.
//!
//! Functions in order: what `assets/order.txt` names lies side by side, or a page that is needed for one function brings
//! fifteen others into memory that nobody runs. Names that fit no function do nothing (`scripts/order` lists them anew).

#![allow(clippy::print_stdout, reason = "how a build script talks to cargo")]

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ORDER: &str = "assets/order.txt";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={ORDER}");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let here = env::var("HOST").ok() == env::var("TARGET").ok();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let released = out.to_string_lossy().contains("/release/");
    if !here || !released || !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    if unpacks() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // Relative to where cargo runs the linker, so that a checkout can be moved: this script does not run again then.
    let order = format!("-Wl,--symbol-ordering-file={ORDER}");
    let arguments = [order.as_str(), "-Wl,--no-warn-symbol-ordering"];
    if links(&out, &arguments) {
        for argument in arguments {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

/// Whether this machine's glibc is 2.36 or newer.
fn unpacks() -> bool {
    let Ok(output) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.trim().strip_prefix("glibc ").and_then(|version| version.split_once('.'));
    let number = |text: &str| text.split('.').next().and_then(|number| number.parse::<u32>().ok());
    version.and_then(|(major, minor)| Some((number(major)?, number(minor)?))).is_some_and(|version| version >= (2, 36))
}

/// Whether the linker that will be used takes these arguments: LLVM's does, GNU's does not.
fn links(out: &Path, arguments: &[&str]) -> bool {
    let source = out.join("empty.rs");
    if fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc")));
    rustc.arg("--edition=2021").arg(&source).arg("-o").arg(out.join("empty"));
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut choice = OsString::from("linker=");
        choice.push(linker);
        rustc.arg("-C").arg(choice);
    }
    for argument in arguments {
        rustc.arg("-C").arg(format!("link-arg={argument}"));
    }
    rustc.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
