//! The JavaScript that is in the program: the host's own modules, the types for editors, the template.

use include_dir::{Dir, include_dir};

static ASSETS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/extensions");

/// The text of a file of the JavaScript side, by its path there.
pub(super) fn text(path: &str) -> Option<&'static str> {
    ASSETS.get_file(path)?.contents_utf8()
}

/// The files that an author's editor reads, by name.
pub fn types() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    folder("types")
}

/// A small working extension and its test, by name.
pub fn template() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    folder("template")
}

fn folder(name: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let files = ASSETS.get_dir(name).into_iter().flat_map(Dir::files);
    files.filter_map(|file| Some((file.path().file_name()?.to_str()?, file.contents())))
}
