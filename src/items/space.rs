//! The spaces items come from, in the order in which they are asked: project, user, system. In the system space the
//! bundles that the person named come before what is in the program.

use crate::domain::Space;
use include_dir::{Dir, include_dir};
use std::fmt;
use std::path::{Path, PathBuf};

/// `assets/system`, embedded. Its `.ai` is the last bundle of the system space.
static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/assets/system");

/// A folder that holds a `.ai`, or the embedded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub space: Space,
    /// Name of a further bundle of the system space.
    pub bundle: Option<String>,
    pub place: Place,
}

/// Where a root's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The folder that holds `.ai`.
    Folder(PathBuf),
    /// In the program.
    Embedded,
}

impl Root {
    /// The file an item's path stands for, as told to people.
    #[must_use]
    pub fn file(&self, path: &str) -> PathBuf {
        match &self.place {
            Place::Folder(folder) => folder.join(path),
            Place::Embedded => Path::new("levain:").join(path),
        }
    }
}

impl fmt::Display for Root {
    /// `project`, `user`, `system`, `system:team`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.space.word())?;
        if let Some(bundle) = &self.bundle {
            write!(formatter, ":{bundle}")?;
        }
        Ok(())
    }
}

/// All roots, the one that wins first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spaces {
    roots: Vec<Root>,
}

impl Spaces {
    /// The spaces of a project: `project/.ai`, `user/.ai`, `bundles` in their order, then the embedded one. Bundles win
    /// over it because the person asked for them. A project in the user's own folder is that folder once.
    #[must_use]
    pub fn new(project: &Path, user: &Path, bundles: impl IntoIterator<Item = PathBuf>) -> Self {
        let folder = |space, path: &Path| Root { space, bundle: None, place: Place::Folder(path.to_owned()) };
        let mut roots = vec![folder(Space::Project, project)];
        if user != project {
            roots.push(folder(Space::User, user));
        }
        for path in bundles {
            let name = path.file_name().map_or_else(|| "bundle".into(), |name| name.to_string_lossy().into_owned());
            roots.push(Root { space: Space::System, bundle: Some(name), place: Place::Folder(path) });
        }
        roots.push(Root { space: Space::System, bundle: None, place: Place::Embedded });
        Self { roots }
    }

    /// The embedded space alone.
    #[must_use]
    pub fn embedded() -> Self {
        Self { roots: vec![Root { space: Space::System, bundle: None, place: Place::Embedded }] }
    }

    #[must_use]
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }
}

/// Path and text of every embedded file.
pub(super) fn embedded_files() -> Vec<(&'static str, &'static [u8])> {
    let mut found = Vec::new();
    let mut folders = vec![&EMBEDDED];
    while let Some(folder) = folders.pop() {
        folders.extend(folder.dirs());
        found.extend(folder.files().filter_map(|file| Some((file.path().to_str()?, file.contents()))));
    }
    found.sort_unstable();
    found
}

/// Path and text of every embedded file below `folder`, in the order of their paths.
pub fn embedded_texts(folder: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    embedded_files()
        .into_iter()
        .filter(move |(path, _)| Path::new(path).starts_with(folder))
        .filter_map(|(path, bytes)| Some((path, std::str::from_utf8(bytes).ok()?)))
}

/// The embedded file at `path`.
pub(super) fn embedded_file(path: &str) -> Option<&'static [u8]> {
    EMBEDDED.get_file(path).map(include_dir::File::contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a file was added and the program not rebuilt around it: touch this file then.
    #[test]
    fn everything_in_the_folder_is_embedded() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/system");
        let mut folders = vec![root.clone()];
        let mut on_disk = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    on_disk.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        on_disk.sort();
        let embedded: Vec<_> = embedded_files().into_iter().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(embedded, on_disk);
    }

    #[test]
    fn spaces_have_names_and_an_order() {
        let spaces = Spaces::new(Path::new("/p"), Path::new("/u"), [PathBuf::from("/opt/team")]);
        let names: Vec<_> = spaces.roots().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["project", "user", "system:team", "system"]);
        assert_eq!(Spaces::new(Path::new("/u"), Path::new("/u"), []).roots().len(), 2);
    }
}
