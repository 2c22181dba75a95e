//! Asks the linker for a program that keeps little in memory.
//!
//! Packed addresses: those that are fixed up when the program starts are over a megabyte less to read and to keep for each
//! of its processes. Only what glibc loads since 2.36 can be packed so, so this is for programs that run where they are
//! built; what is shipped (profile `dist`) must start anywhere.

#![allow(clippy::print_stdout, reason = "how a build script talks to cargo")]

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
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
}

/// Whether this machine's glibc is 2.36 or newer.
fn unpacks() -> bool {
    let Ok(output) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.trim().strip_prefix("glibc ").and_then(|version| version.split_once('.'));
    let number = |text: &str| text.split('.').next().and_then(|number| number.parse::<u32>().ok());
    version.and_then(|(major, minor)| Some((number(major)?, number(minor)?))).is_some_and(|version| version >= (2, 36))
}
