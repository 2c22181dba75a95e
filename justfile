# What anybody working on levain runs. `just` alone lists it.

[private]
default:
    @just --list --unsorted

# All checks, as CI runs them
check:
    ./scripts/test

# Build and open the workbench: `just run --model openai/…`
run *arguments:
    ./scripts/run {{ arguments }}

# Tests only, those whose name contains the words given
test *words:
    cargo nextest run --locked {{ words }}

# Look at changed snapshots as pictures and take them or not (needs `cargo install cargo-insta`)
snapshots:
    cargo insta review

# Inside benches; the whole program is measured from outside
bench *words:
    cargo bench --locked {{ words }}

# The same chat against a real small model on this machine
acceptance:
    ./scripts/acceptance

# The code's own pages
docs:
    cargo doc --no-deps --locked --open

# What is known against what we depend on; needs a network (and `cargo install cargo-deny`)
advisories:
    cargo deny check advisories

# Licences, banned crates, sources (needs `cargo install cargo-deny`)
deny:
    cargo deny check licenses bans sources
