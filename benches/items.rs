//! What finding items costs. `cargo bench --bench items`.

#![allow(clippy::expect_used, reason = "a bench that cannot go on fails")]

use divan::{Bencher, black_box};
use levain::items::{Items, Kind, Spaces};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

fn main() {
    divan::main();
}

/// 10,000 items in three folders, made once; a quarter of them shadowed.
fn folders() -> &'static Path {
    static FOLDERS: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDERS.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for number in 0..10_000 {
            let space = ["project", "user", "bundle"][number % 3];
            let (kind, ending) = [("directives", "md"), ("knowledge", "md"), ("tools", "py")][number / 3 % 3];
            let below = folder.path().join(format!("{space}/.ai/{kind}/group{}", number / 3 % 100));
            fs::create_dir_all(&below).expect("a folder");
            fs::write(below.join(format!("item{}.{ending}", number * 3 / 4)), "text").expect("a file");
        }
        folder
    });
    folder.path()
}

fn spaces() -> Spaces {
    let base = folders();
    Spaces::new(&base.join("project"), &base.join("user"), [base.join("bundle")])
}

/// Target: 300 ms, with the folders in the system's cache or not.
#[divan::bench]
fn list_10000(bencher: Bencher<'_, '_>) {
    let spaces = spaces();
    bencher.bench(|| Items::list(black_box(&spaces)));
}

/// Target: 1 ms.
#[divan::bench]
fn resolve_and_read_one(bencher: Bencher<'_, '_>) {
    let items = Items::list(&spaces());
    let id = items.ids(Kind::Directive).nth(500).expect("an item").to_string();
    bencher.bench(|| items.read(items.find(Kind::Directive, black_box(&id)).expect("an item").item));
}

/// A miss looks for near names.
#[divan::bench]
fn miss_one(bencher: Bencher<'_, '_>) {
    let items = Items::list(&spaces());
    bencher.bench(|| items.find(Kind::Directive, black_box("group5/itm77")).is_err());
}
