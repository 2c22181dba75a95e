//! The levain program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    levain::cli::main()
}
