//! What the program writes about itself: to a file, never to the screen.
//!
//! `LEVAIN_LOG` sets how much, in the form of `tracing`'s filters (`levain=debug`); warnings are always kept. No text of
//! a conversation and no key is logged. A log that cannot be written is nobody's failure: what fails to go into it is lost,
//! and nothing is said, since standard error may be that very file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tracing_subscriber::EnvFilter;

/// A log file that is made when the first line is written: most runs have nothing to say.
#[derive(Debug)]
struct Lazy {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl Write for &Lazy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            if let Some(folder) = self.path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            *file = Some(OpenOptions::new().create(true).append(true).open(&self.path)?);
        }
        match &mut *file {
            Some(file) => file.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn filter() -> EnvFilter {
    let said = std::env::var("LEVAIN_LOG").ok().and_then(|text| EnvFilter::try_new(text).ok());
    let filter = said.unwrap_or_else(|| EnvFilter::new("warn"));
    // What it logs of signing in has codes and tokens in it.
    match "rmcp::transport::auth=warn".parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => EnvFilter::new("warn"),
    }
}

/// Logs of a screen or a headless command go to `path`.
pub fn to_file(path: PathBuf) {
    let lazy: &'static Lazy = Box::leak(Box::new(Lazy { path, file: Mutex::new(None) }));
    let _already_set = tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_ansi(false)
        .with_writer(move || lazy)
        .log_internal_errors(false)
        .try_init();
}

/// Logs of a worker go to its standard error, which is `worker.log`.
pub fn to_stderr() {
    let _already_set = tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_ansi(false)
        .with_writer(io::stderr)
        .log_internal_errors(false)
        .try_init();
}
